#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads documents whose shape is known and whose texts are plain words, front to back and without a tree.
///
/// For responses that each request gets. It never takes what ``XMLReader`` would refuse or read otherwise; whatever
/// is not plain is left to it.
struct PlainXML {
    let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether everything has been read but blanks.
    var isAtEnd: Bool {
        mutating get {
            skipBlanks()
            return position == bytes.count
        }
    }

    /// Takes a tag, and the blanks before it.
    mutating func take(_ tag: StaticString) -> Bool {
        skipBlanks()
        guard isHere(tag, at: position) else { return false }
        position += tag.utf8CodeUnitCount
        return true
    }

    /// Takes a whole element, and the blanks before it.
    ///
    /// - Parameter word: where the element's text stands; still `nil`.
    /// - Returns: whether such an element was here, and its text one word of visible ASCII that stands for itself.
    mutating func take(_ name: StaticString, _ word: inout Range<Int>?) -> Bool {
        skipBlanks()
        let start = position + name.utf8CodeUnitCount + 2
        guard word == nil, isHere("<", at: position), isHere(name, at: position + 1), isHere(">", at: start - 1) else {
            return false
        }
        let end = endOfWord(from: start)
        let after = end + name.utf8CodeUnitCount + 3
        guard end > start, isHere("</", at: end), isHere(name, at: end + 2), isHere(">", at: after - 1) else {
            return false
        }
        word = start..<end
        position = after
        return true
    }

    private func isHere(_ text: StaticString, at offset: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - offset >= count else { return false }
        return bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memcmp(start + offset, text.utf8Start, count) == 0
        }
    }

    private mutating func skipBlanks() {
        while position < bytes.count, isBlank(bytes[position]) { position += 1 }
    }

    /// A session token is long. In blocks without a branch for single bytes, the compiler makes vectors of it.
    private func endOfWord(from start: Int) -> Int {
        let all = bytes[...]
        let bytes = all.span
        let width = 16
        var end = start
        while bytes.count - end >= width {
            let block = bytes.extracting(end..<end + width)
            var (highest, least) = (UInt8.min, UInt8.max)
            for index in 0..<width {
                let byte = block[index]
                highest = max(highest, byte &- 0x21)
                // The difference to a byte is zero for this byte alone.
                least = min(least, byte ^ UInt8(ascii: "<"), byte ^ UInt8(ascii: "&"), byte ^ UInt8(ascii: "]"))
            }
            if highest >= 0x5E || least == 0 { break }
            end += width
        }
        while end < bytes.count, Self.isPlain(bytes[end]) { end += 1 }
        return end
    }

    /// Visible ASCII but for what means something in XML.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte &- 0x21 < 0x5E && byte != UInt8(ascii: "<") && byte != UInt8(ascii: "&") && byte != UInt8(ascii: "]")
    }
}
