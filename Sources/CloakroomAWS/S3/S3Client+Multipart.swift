import CloakroomCrypto
package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Multipart uploads, as far as they are ours: create, list parts, complete, abort. The parts themselves come from
/// those who hold their URLs.
extension S3Client {
    /// - Parameter fields: what S3 is to keep with the object, such as `x-amz-meta-…`.
    /// - Returns: the upload's id.
    package func createMultipartUpload(
        _ object: ObjectAddress, contentType: String, fields: HeaderFields = [:], deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> String {
        var all: HeaderFields = ["content-type": contentType]
        all.add(fields)
        var counts = AttemptCounts()
        return try await beginUpload(object, all, deadline: deadline, counts: &counts)
    }

    /// - Parameter fields: all that the object is to have.
    func beginUpload(
        _ object: ObjectAddress, _ fields: HeaderFields, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> String {
        var message = message("POST", object)
        message.query = "uploads"
        message.fields.add(fields)
        return try await upstream.call(
            message, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            guard response.status == 200, let root, root.hasName("InitiateMultipartUploadResult"),
                let id = root.text(of: "UploadId"), (1...1024).contains(id.utf8.count)
            else { throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) }) }
            return id
        }
    }

    /// The parts that S3 has, by number; a store may name one more than once.
    ///
    /// - Returns: `nil` when there is no such upload.
    package func parts(
        of uploadID: String, _ object: ObjectAddress, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> [UploadedPart]? {
        var parts: [UploadedPart] = []
        var marker = 0
        while true {
            guard let page = try await page(of: uploadID, object, after: marker, deadline) else { return nil }
            parts += page.parts
            guard let next = page.nextMarker else { return parts }
            // Never in circles.
            guard next > marker else { throw AWSError(.transient, status: 200, code: "RepeatedPage") }
            marker = next
        }
    }

    private func page(
        of uploadID: String, _ object: ObjectAddress, after marker: Int, _ deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> PartPage? {
        var message = message("GET", object)
        let upload = PercentEncoding.encode(uploadID)
        message.query = "max-parts=1000&part-number-marker=\(marker)&uploadId=\(upload)"
        var counts = AttemptCounts()
        return try await upstream.call(
            message, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            // A thousand parts with their checksums.
            let root = try? XMLReader.read(response.body, limits: .init(bytes: 1 << 20, elements: 16_384))
            if response.status == 200, let root, let page = PartPage(root) { return page }
            let error = root.flatMap { AWSErrorResponse($0) }
            if response.status == 404, Self.isNoUpload(error) { return nil }
            throw AWSError(response, error: error)
        }
    }

    /// Makes the object of its parts.
    ///
    /// - Parameters:
    ///   - parts: by number, each once.
    ///   - condition: left out for stores that do not know it here.
    ///   - timeout: of one attempt; S3 may take minutes for a large object.
    package func completeMultipartUpload(
        _ object: ObjectAddress, uploadID: String, parts: [UploadedPart], condition: PutCondition = .ifNoneMatch,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> MultipartCompletion {
        var counts = AttemptCounts()
        return try await completeMultipartUpload(
            object, uploadID: uploadID, parts: parts, condition: condition, timeout: timeout, deadline: deadline,
            counts: &counts)
    }

    /// The same, for a caller that has to know what may have been carried out: ``AttemptCounts/mayHaveActed(before:)``.
    package func completeMultipartUpload(
        _ object: ObjectAddress, uploadID: String, parts: [UploadedPart], condition: PutCondition = .ifNoneMatch,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> MultipartCompletion {
        var condition = condition
        while true {
            if !isSupportedOnCompletion(condition) { condition = .none }
            switch try await completeUpload(
                object, uploadID, parts, condition, timeout: timeout, deadline: deadline, counts: &counts)
            {
            case .completed: return .completed
            case .conditionFailed: return .objectExists
            case .noSuchUpload: return .noSuchUpload
            case .partsRefused(let code): return .partsRefused(code: code)
            case .conditionRefused: unsupportedOnCompletion.insert(condition.fieldName)
            }
        }
    }

    enum CompletionResponse {
        case completed(expiration: Date?)
        case conditionFailed
        /// Completed before, or given up.
        case noSuchUpload
        case partsRefused(code: String)
        /// The store does not know of this condition here.
        case conditionRefused
    }

    func isSupportedOnCompletion(_ condition: PutCondition) -> Bool {
        !unsupportedOnCompletion.contains(condition.fieldName)
    }

    /// S3 may respond before it has the result: with 200, blanks, and then perhaps an error. Only its result is
    /// a success.
    func completeUpload(
        _ object: ObjectAddress, _ uploadID: String, _ parts: [UploadedPart], _ condition: PutCondition,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant, counts: inout AttemptCounts
    ) async throws(AWSError) -> CompletionResponse {
        let body = XMLNode(
            "CompleteMultipartUpload",
            parts.map { XMLNode("Part", [XMLNode("PartNumber", String($0.number)), XMLNode("ETag", $0.entityTag)]) }
        ).document(namespace: Self.namespace)
        var message = message("POST", object)
        message.query = "uploadId=\(PercentEncoding.encode(uploadID))"
        message.payloadHash = SHA256.hash(body).hexadecimal
        message.fields.add(condition.fields)
        return try await upstream.call(
            message, body: body, deadline: deadline, timeout: timeout, counts: &counts
        ) { response throws(AWSError) in
            let root = try? XMLReader.read(response.body)
            if response.status == 200, let root, root.hasName("CompleteMultipartUploadResult"),
                root.text(of: "ETag")?.isEmpty == false
            {
                return .completed(expiration: ObjectExpiration.date(response.fields))
            }
            let error = root.flatMap { AWSErrorResponse($0) }
            switch (response.status, error?.code) {
            case (404, "NoSuchUpload"): return .noSuchUpload
            // The other: there is no object any more that could be the same still.
            case (412, "PreconditionFailed"), (404, "NoSuchKey"): return .conditionFailed
            case (400, "InvalidPart"?), (400, "InvalidPartOrder"?), (400, "EntityTooSmall"?):
                return .partsRefused(code: error?.code ?? "InvalidPart")
            case (501, "NotImplemented") where condition != .none: return .conditionRefused
            default: throw AWSError(response, error: error)
            }
        }
    }

    /// - Returns: whether there was such an upload.
    package func abortMultipartUpload(
        _ object: ObjectAddress, uploadID: String, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> Bool {
        var message = message("DELETE", object)
        message.query = "uploadId=\(PercentEncoding.encode(uploadID))"
        var counts = AttemptCounts()
        return try await upstream.call(
            message, deadline: deadline, counts: &counts
        ) { response throws(AWSError) in
            // S3 API Reference, AbortMultipartUpload: 204, as of a deletion.
            if response.status == 204 { return true }
            let error = AWSErrorResponse(response.body)
            if response.status == 404, Self.isNoUpload(error) { return false }
            throw AWSError(response, error: error)
        }
    }

    /// Ceph says of an upload that was completed or aborted that there is no such key.
    private static func isNoUpload(_ error: AWSErrorResponse?) -> Bool {
        error?.code == "NoSuchUpload" || error?.code == "NoSuchKey"
    }
}
