import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What S3 said to a ``CopyRequest`` and will say again.
enum CopyResponse: Equatable {
    case copied(expiration: Date?)
    /// The object is not as old as was required.
    case modifiedSince
    /// Another precondition did not hold, or S3 does not say which one.
    case preconditionFailed
    case notFound
    case archived
    case invalidKey
    case unrenewable(code: String)
    /// This store does not copy an object onto itself unless its metadata are replaced.
    case selfCopyRefused
    /// Refused for what the object is, perhaps for its size; only the object itself tells.
    case unsuitable(code: String)

    /// - Throws: ``AWSError`` for every other response. A response of 200 is a success only with its result in it.
    init(_ response: UpstreamResponse) throws(AWSError) {
        if response.status == 200, CopyObjectResultXML.isPlain(response.body) {
            self = .copied(expiration: ObjectExpiration.date(response.fields))
            return
        }
        let root = try? XMLReader.read(response.body)
        if response.status == 200 {
            guard let root, root.hasName("CopyObjectResult"), root.text(of: "ETag")?.isEmpty == false else {
                throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
            }
            self = .copied(expiration: ObjectExpiration.date(response.fields))
            return
        }
        let error = root.flatMap { AWSErrorResponse($0) }
        guard let error, let answer = Self(status: response.status, error: error) else {
            throw AWSError(response, error: error)
        }
        self = answer
    }

    /// Whether an error's code says that no object of the store can have such a key. Clients choose keys, so
    /// such a refusal is no misconfiguration.
    ///
    /// Source: S3 API Reference, "Error responses"; MinIO, `cmd/api-errors.go`, on `//`, and on segments of dots.
    static func isOfKey(_ code: String) -> Bool {
        ["KeyTooLongError", "InvalidURI", "XMinioInvalidObjectName", "XMinioInvalidResourceName"].contains(code)
    }

    private init?(status: Int, error: AWSErrorResponse) {
        switch (status, error.code) {
        case (412, "PreconditionFailed"):
            let isAge = error.condition?.lowercased() == "x-amz-copy-source-if-unmodified-since"
            self = isAge ? .modifiedSince : .preconditionFailed
        case (404, "NoSuchKey"): self = .notFound
        case (403, "InvalidObjectState"), (403, "ObjectNotInActiveTierError"): self = .archived
        case (400, let code) where Self.isOfKey(code): self = .invalidKey
        case (400, "InvalidArgument") where error.message.contains("copy source object key"): self = .invalidKey
        case (400, "InvalidRequest") where error.message.contains("copy an object to itself"): self = .selfCopyRefused
        // Encrypted with its owner's key (SSE-C).
        case (400, "InvalidRequest") where error.message.contains("Server Side Encryption"):
            self = .unrenewable(code: error.code)
        case (400, "InvalidRequest"), (400, "EntityTooLarge"): self = .unsuitable(code: error.code)
        default: return nil
        }
    }
}
