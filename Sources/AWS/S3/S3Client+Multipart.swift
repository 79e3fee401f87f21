import CloakroomCrypto
package import HTTPValues

/// Uploads in parts, as far as they are ours: beginning, looking, completing, giving up. The parts themselves come from
/// those who hold their URLs.
extension S3Client {
    /// - Parameter fields: what S3 is to keep with the object, such as `x-amz-meta-…`.
    /// - Returns: the upload's id.
    package func createMultipartUpload(
        _ object: ObjectAddress, contentType: String, fields: HeaderFields = [:], deadline: ContinuousClock.Instant
    ) async throws(Fault) -> String {
        var message = message("POST", object)
        message.query = "uploads="
        message.fields.add("content-type", contentType)
        message.fields.add(fields)
        var effort = Effort()
        return try await upstream.call(
            .createMultipartUpload, message, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("InitiateMultipartUploadResult"),
                let id = root.text(of: "UploadId"), (1...1024).contains(id.utf8.count)
            else { throw Fault(response, error: root.flatMap { ErrorAnswer($0) }) }
            return id
        }
    }

    /// The parts that S3 has, by number; a store may name one more than once.
    ///
    /// - Returns: `nil` when there is no such upload.
    package func parts(
        of uploadID: String, _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(Fault) -> [UploadedPart]? {
        var parts: [UploadedPart] = []
        var marker = 0
        while true {
            guard let page = try await page(of: uploadID, object, after: marker, deadline) else { return nil }
            parts += page.parts
            guard let next = page.nextMarker else { return parts }
            // Never in circles.
            guard next > marker else { throw Fault(.transient, status: 200, code: "RepeatedPage") }
            marker = next
        }
    }

    private func page(
        of uploadID: String, _ object: ObjectAddress, after marker: Int, _ deadline: ContinuousClock.Instant
    ) async throws(Fault) -> PartPage? {
        var message = message("GET", object)
        let upload = PercentEncoding.encode(uploadID)
        message.query = "max-parts=1000&part-number-marker=\(marker)&uploadId=\(upload)"
        var effort = Effort()
        return try await upstream.call(
            .listParts, message, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            // A thousand parts with their checksums.
            let root = try? XMLReader.read(response.body, limits: .init(bytes: 1 << 20, elements: 16_384))
            if response.status == 200, let root, let page = PartPage(root) { return page }
            let error = root.flatMap { ErrorAnswer($0) }
            if response.status == 404, error?.code == "NoSuchUpload" { return nil }
            throw Fault(response, error: error)
        }
    }

    /// Makes the object of its parts, unless there is one of its name.
    ///
    /// S3 may say 200, keep the connection with blanks, and then tell of an error: only its result is a success.
    /// - Parameter parts: by number, each once.
    package func completeMultipartUpload(
        _ object: ObjectAddress, uploadID: String, parts: [UploadedPart], deadline: ContinuousClock.Instant
    ) async throws(Fault) -> MultipartCompletion {
        let body = XMLNode(
            "CompleteMultipartUpload",
            parts.map { XMLNode("Part", [XMLNode("PartNumber", String($0.number)), XMLNode("ETag", $0.entityTag)]) }
        ).document(namespace: "http://s3.amazonaws.com/doc/2006-03-01/")
        while true {
            let isConditional = !refusesConditionalCompletion
            switch try await complete(object, uploadID, body, isConditional: isConditional, deadline) {
            case .is(let completion): return completion
            case .conditionRefused:
                guard isConditional else { throw Fault(.refused, status: 501, code: "NotImplemented") }
                refusesConditionalCompletion = true
            }
        }
    }

    private enum CompletionAnswer {
        case `is`(MultipartCompletion)
        /// The store does not know of conditions here.
        case conditionRefused
    }

    private func complete(
        _ object: ObjectAddress, _ uploadID: String, _ body: [UInt8], isConditional: Bool,
        _ deadline: ContinuousClock.Instant
    ) async throws(Fault) -> CompletionAnswer {
        var message = message("POST", object)
        message.query = "uploadId=\(PercentEncoding.encode(uploadID))"
        message.payloadHash = SHA256.hash(body).hexadecimal
        message.fields.add("content-type", "application/xml")
        if isConditional { message.fields.add("if-none-match", "*") }
        var effort = Effort()
        return try await upstream.call(
            .completeMultipartUpload, message, body: body, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            let root = try? XMLReader.read(response.body)
            if response.status == 200, let root, root.hasName("CompleteMultipartUploadResult"),
                root.text(of: "ETag")?.isEmpty == false
            {
                return .is(.completed)
            }
            let error = root.flatMap { ErrorAnswer($0) }
            switch (response.status, error?.code) {
            case (404, "NoSuchUpload"): return .is(.noSuchUpload)
            case (412, "PreconditionFailed"): return .is(.objectExists)
            case (400, "InvalidPart"?), (400, "InvalidPartOrder"?), (400, "EntityTooSmall"?):
                return .is(.partsRefused(code: error?.code ?? "InvalidPart"))
            case (501, "NotImplemented"): return .conditionRefused
            default: throw Fault(response, error: error)
            }
        }
    }

    /// - Returns: whether there was such an upload.
    package func abortMultipartUpload(
        _ object: ObjectAddress, uploadID: String, deadline: ContinuousClock.Instant
    ) async throws(Fault) -> Bool {
        var message = message("DELETE", object)
        message.query = "uploadId=\(PercentEncoding.encode(uploadID))"
        var effort = Effort()
        return try await upstream.call(
            .abortMultipartUpload, message, deadline: deadline, effort: &effort
        ) { response throws(Fault) in
            let error = ErrorAnswer(response.body)
            if response.status == 204 || response.status == 200, error == nil { return true }
            if response.status == 404, error?.code == "NoSuchUpload" { return false }
            throw Fault(response, error: error)
        }
    }
}
