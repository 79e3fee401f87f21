import HTTPValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What S3 said to a ``CopyRequest`` and will say again.
enum CopyAnswer: Equatable {
    case copied(expiration: Date?)
    /// The precondition did not hold: the object is not as old, or no longer the same.
    case preconditionFailed
    case notFound
    case archived
    case invalidKey
    case unrenewable(code: String)
    /// This store does not copy an object onto itself unless its metadata are replaced.
    case selfCopyRefused

    /// - Throws: ``Fault`` for every other answer. An answer of 200 is a success only with its result in it.
    init(_ response: UpstreamResponse) throws(Fault) {
        let root = try? XMLReader.read(response.body)
        let error = root.flatMap { ErrorAnswer($0) }
        if response.status == 200 {
            guard let root, root.hasName("CopyObjectResult"), root.text(of: "ETag")?.isEmpty == false else {
                throw Fault(response, error: error)
            }
            self = .copied(expiration: Self.expiration(response.fields))
            return
        }
        guard let error, let answer = Self(status: response.status, error: error) else {
            throw Fault(response, error: error)
        }
        self = answer
    }

    private init?(status: Int, error: ErrorAnswer) {
        switch (status, error.code) {
        case (412, "PreconditionFailed"): self = .preconditionFailed
        case (404, "NoSuchKey"): self = .notFound
        case (403, "InvalidObjectState"), (403, "ObjectNotInActiveTierError"): self = .archived
        case (400, "KeyTooLongError"): self = .invalidKey
        case (400, "InvalidArgument") where error.message.contains("copy source object key"): self = .invalidKey
        case (400, "InvalidRequest") where error.message.contains("copy an object to itself"): self = .selfCopyRefused
        // Encrypted with its owner's key, or larger than one copy may be.
        case (400, "InvalidRequest"), (400, "EntityTooLarge"): self = .unrenewable(code: error.code)
        default: return nil
        }
    }

    /// `expiry-date="Fri, 23 Dec 2012 00:00:00 GMT", rule-id="…"`
    static func expiration(_ fields: HeaderFields) -> Date? {
        let name = "expiry-date=\""
        // Always first; a date is 29 characters long.
        guard let text = fields["x-amz-expiration"], text.hasPrefix(name) else { return nil }
        return Timestamp(http: String(decoding: text.utf8.dropFirst(name.utf8.count).prefix(29), as: UTF8.self))?.date
    }
}
