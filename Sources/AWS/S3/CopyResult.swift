/// The body of a copy that was made, in the shape that S3 gives it: flat elements of plain text, one of them the entity
/// tag.
///
/// It saves the tree of an answer that comes for each renewed key. ``XMLReader`` judges whatever is any different.
struct CopyResult {
    /// A longer one is something else.
    private static let maximumBytes = 2048

    private let bytes: [UInt8]
    private var position = 0

    /// - Returns: never `true` of what ``XMLReader`` would not take for a result with an entity tag.
    static func isPlain(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumBytes else { return false }
        var result = CopyResult(bytes: bytes)
        return result.isPlain()
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func isPlain() -> Bool {
        guard take(#"<?xml version="1.0" encoding="UTF-8"?>"#) else { return false }
        _ = take("\n")
        guard take(#"<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#) else { return false }
        var isTagged = false
        while !take("</CopyObjectResult>") {
            guard take("<") else { return false }
            let isTag = isHere("ETag>")
            let start = position
            skip(Self.isNameByte)
            let name = start..<position
            guard let first = bytes[name].first, !(0x30...0x39).contains(first), take(">") else { return false }
            let text = position
            repeat { skip(Self.isTextByte) } while take("&quot;")
            if isTag {
                guard position > text else { return false }
                isTagged = true
            }
            guard take("</"), take(name), take(">") else { return false }
        }
        _ = take("\n")
        return isTagged && position == bytes.count
    }

    private mutating func skip(_ isMeant: (UInt8) -> Bool) {
        while position < bytes.count, isMeant(bytes[position]) { position += 1 }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        guard isHere(text) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    private func isHere(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            for index in text.indices where bytes[position + index] != text[index] { return false }
            return true
        }
    }

    /// The same bytes once more.
    private mutating func take(_ range: Range<Int>) -> Bool {
        guard bytes.count - position >= range.count else { return false }
        let offset = position - range.lowerBound
        for index in range where bytes[index] != bytes[index + offset] { return false }
        position += range.count
        return true
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// What stands in dates, entity tags and checksums.
    private static func isTextByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: isNameByte(byte)
        }
    }
}
