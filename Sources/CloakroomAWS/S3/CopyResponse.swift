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
    case unrenewableObject(code: String)
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
        guard let error, let decoded = Self(status: response.status, error: error) else {
            throw AWSError(response, error: error)
        }
        self = decoded
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
            self = .unrenewableObject(code: error.code)
        case (400, "InvalidRequest"), (400, "EntityTooLarge"): self = .unsuitable(code: error.code)
        default: return nil
        }
    }
}

/// The body of a copy that was made, in the shape that S3 gives it: flat elements of plain text, one of them the entity
/// tag.
///
/// It saves the tree of a response that comes for each renewed key. ``XMLReader`` decodes all other shapes.
enum CopyObjectResultXML {
    /// A longer one is something else.
    private static let maximumBytes = 2048

    /// - Returns: never `true` of what ``XMLReader`` would not take for a result with an entity tag.
    static func isPlain(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumBytes else { return false }
        let all = bytes[...]
        return isPlain(all.span)
    }

    private static func isPlain(_ text: Span<UInt8>) -> Bool {
        var position = 0
        guard take(#"<?xml version="1.0" encoding="UTF-8"?>"#, text, &position) else { return false }
        _ = take("\n", text, &position)
        guard take(#"<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#, text, &position) else {
            return false
        }
        var isTagged = false
        while !take("</CopyObjectResult>", text, &position) {
            guard take("<", text, &position) else { return false }
            let isTag = isHere("ETag>", text, position)
            let start = position
            while position < text.count, isNameByte(text[position]) { position += 1 }
            let name = start..<position
            guard !name.isEmpty, !(0x30...0x39).contains(text[start]), take(">", text, &position) else { return false }
            let value = position
            repeat {
                while position < text.count, isTextByte(text[position]) { position += 1 }
            } while take("&quot;", text, &position)
            if isTag {
                guard position > value else { return false }
                isTagged = true
            }
            guard take("</", text, &position), take(name, text, &position), take(">", text, &position) else {
                return false
            }
        }
        _ = take("\n", text, &position)
        return isTagged && position == text.count
    }

    @inline(__always)
    private static func take(_ literal: StaticString, _ text: Span<UInt8>, _ position: inout Int) -> Bool {
        guard isHere(literal, text, position) else { return false }
        position += literal.utf8CodeUnitCount
        return true
    }

    @inline(__always)
    private static func isHere(_ literal: StaticString, _ text: Span<UInt8>, _ position: Int) -> Bool {
        let end = position + literal.utf8CodeUnitCount
        guard end <= text.count else { return false }
        return literal.withUTF8Buffer { literal in isSame(literal.span, text.extracting(position..<end)) }
    }

    /// The same bytes once more.
    private static func take(_ range: Range<Int>, _ text: Span<UInt8>, _ position: inout Int) -> Bool {
        let end = position + range.count
        guard end <= text.count, isSame(text.extracting(range), text.extracting(position..<end)) else { return false }
        position = end
        return true
    }

    /// Of two of one length; without an early end, so that the compiler looks at many bytes at once.
    private static func isSame(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }

    /// A letter or a digit.
    private static func isNameByte(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 }

    /// What stands in dates, entity tags and checksums: also `+`, `-` to `:`, `"` and `=`.
    private static func isTextByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || byte &- 0x2D < 14 || byte == 0x2B || byte == 0x22 || byte == 0x3D
    }
}
