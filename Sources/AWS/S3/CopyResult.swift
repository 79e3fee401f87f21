/// The body of a copy that was made, in the shape that S3 gives it: flat elements of plain text, one of them the entity
/// tag.
///
/// It saves the tree of an answer that comes for each renewed key. ``XMLReader`` judges whatever is any different.
enum CopyResult {
    /// A longer one is something else.
    private static let maximumBytes = 2048

    /// - Returns: never `true` of what ``XMLReader`` would not take for a result with an entity tag.
    static func isPlain(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumBytes else { return false }
        let all = bytes[...]
        return isPlain(all.span)
    }

    private static func isPlain(_ text: Span<UInt8>) -> Bool {
        var place = 0
        guard take(#"<?xml version="1.0" encoding="UTF-8"?>"#, text, &place) else { return false }
        _ = take("\n", text, &place)
        guard take(#"<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#, text, &place) else {
            return false
        }
        var isTagged = false
        while !take("</CopyObjectResult>", text, &place) {
            guard take("<", text, &place) else { return false }
            let isTag = isHere("ETag>", text, place)
            let start = place
            while place < text.count, isNameByte(text[place]) { place += 1 }
            let name = start..<place
            guard !name.isEmpty, !(0x30...0x39).contains(text[start]), take(">", text, &place) else { return false }
            let value = place
            repeat {
                while place < text.count, isTextByte(text[place]) { place += 1 }
            } while take("&quot;", text, &place)
            if isTag {
                guard place > value else { return false }
                isTagged = true
            }
            guard take("</", text, &place), take(name, text, &place), take(">", text, &place) else { return false }
        }
        _ = take("\n", text, &place)
        return isTagged && place == text.count
    }

    @inline(__always)
    private static func take(_ words: StaticString, _ text: Span<UInt8>, _ place: inout Int) -> Bool {
        guard isHere(words, text, place) else { return false }
        place += words.utf8CodeUnitCount
        return true
    }

    @inline(__always)
    private static func isHere(_ words: StaticString, _ text: Span<UInt8>, _ place: Int) -> Bool {
        let end = place + words.utf8CodeUnitCount
        guard end <= text.count else { return false }
        return words.withUTF8Buffer { words in isSame(words.span, text.extracting(place..<end)) }
    }

    /// The same bytes once more.
    private static func take(_ range: Range<Int>, _ text: Span<UInt8>, _ place: inout Int) -> Bool {
        let end = place + range.count
        guard end <= text.count, isSame(text.extracting(range), text.extracting(place..<end)) else { return false }
        place = end
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
