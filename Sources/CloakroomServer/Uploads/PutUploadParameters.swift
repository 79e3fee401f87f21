import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a client says of the object that it wants to PUT.
struct PutUploadParameters: Sendable, Equatable {
    let contentType: String
    /// In bytes.
    let contentLength: Int?
    /// In base64, as S3 takes it.
    let checksum: String?

    /// - Parameter query: `filename` may be in it and is not used: nothing a client chose gets into a key.
    init(query: String, rules: UploadRules) throws(UploadRules.Refusal) {
        guard let parameters = QueryParameters(query) else { throw .malformedQuery }
        contentType = try rules.contentType(parameters["contentType"])
        if let text = parameters["contentLength"] {
            contentLength = try rules.length(
                QueryParameters.integer(text) ?? 0, named: "contentLength", upTo: rules.maximumBytesAtOnce)
        } else {
            guard !rules.requiresContentLength else { throw .noLength(name: "contentLength") }
            contentLength = nil
        }
        checksum = try parameters["sha256"].map { (text) throws(UploadRules.Refusal) in
            Data(try rules.checksum(text)).base64EncodedString()
        }
    }
}

/// What a client says of the object that it wants to send as a form.
struct PostUploadParameters: Sendable, Equatable {
    let contentType: String
    /// In bytes.
    let maximumBytes: Int
    /// In base64, as S3 takes it.
    let checksum: String?

    init(parsing body: [UInt8], rules: UploadRules) throws(UploadRules.Refusal) {
        guard let asked = try? PostUploadRequest(parsing: body) else { throw .malformedBody }
        contentType = try rules.contentType(asked.contentType)
        maximumBytes = try rules.length(
            asked.maximumBytes ?? rules.maximumBytesAtOnce, named: "maximumBytes", upTo: rules.maximumBytesAtOnce)
        checksum = try asked.sha256.map { (text) throws(UploadRules.Refusal) in
            Data(try rules.checksum(text)).base64EncodedString()
        }
    }
}

/// What a client says of the object of a multipart upload.
struct MultipartUploadParameters: Sendable, Equatable {
    let contentType: String
    let plan: MultipartLayout
    /// In hexadecimal. S3 cannot check it: it knows no SHA-256 over several parts.
    let checksum: String?

    init(parsing body: [UInt8], rules: UploadRules) throws(UploadRules.Refusal) {
        guard let asked = try? MultipartUploadRequest(parsing: body) else { throw .malformedBody }
        contentType = try rules.contentType(asked.contentType)
        guard let length = asked.contentLength else { throw .noLength(name: "contentLength") }
        plan = MultipartLayout(byteCount: try rules.length(length, named: "contentLength", upTo: rules.maximumBytes))
        checksum = try asked.sha256.map { (text) throws(UploadRules.Refusal) in try rules.checksum(text).hexadecimal }
    }
}
