/// Characters, names, references and what is skipped: the parts that elements are made of.
extension XMLReader {
    static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "]")
    }

    /// One byte of text, a line end, or a whole reference.
    mutating func character() throws(XMLError) {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "&"):
            try reference()
        case UInt8(ascii: "\r"):
            if peek != UInt8(ascii: "\n") { texts.append(UInt8(ascii: "\n")) }
        default:
            texts.append(byte)
        }
    }

    mutating func reference() throws(XMLError) {
        let start = position
        while let byte = peek, byte != UInt8(ascii: ";"), position - start < 10 { position += 1 }
        let name = bytes[start..<position]
        guard take(";") else { throw .malformed }
        if name.first == UInt8(ascii: "#") {
            guard let scalar = Self.scalar(name.dropFirst()) else { throw .malformed }
            texts.append(contentsOf: Character(scalar).utf8)
            return
        }
        guard let entity = Self.entities.first(where: { $0.name.utf8.elementsEqual(name) }) else { throw .malformed }
        texts.append(entity.value)
    }

    private static let entities: [(name: String, value: UInt8)] = [
        ("quot", UInt8(ascii: "\"")), ("amp", UInt8(ascii: "&")), ("lt", UInt8(ascii: "<")),
        ("gt", UInt8(ascii: ">")), ("apos", UInt8(ascii: "'")),
    ]

    static func scalar(_ digits: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let isHexadecimal = digits.first == UInt8(ascii: "x")
        let text = String(decoding: isHexadecimal ? digits.dropFirst() : digits, as: UTF8.self)
        guard !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let number = UInt32(text, radix: isHexadecimal ? 16 : 10), isCharacter(number)
        else { return nil }
        return Unicode.Scalar(number)
    }

    /// Production 2, `Char`.
    static func isCharacter(_ number: UInt32) -> Bool {
        number >= 0x20 ? number != 0xFFFE && number != 0xFFFF : number == 0x9 || number == 0xA || number == 0xD
    }

    /// Whether it is UTF-8 and has only characters that XML allows.
    func check(_ text: ArraySlice<UInt8>) throws(XMLError) {
        var (lowest, highest) = (UInt8.max, UInt8.min)
        for byte in text { (lowest, highest) = (min(lowest, byte), max(highest, byte)) }
        if lowest < 0x20 {
            for byte in text where !Self.isCharacter(UInt32(byte)) { throw .malformed }
        }
        guard highest >= 0x80 else { return }
        let isBroken = transcode(
            text.makeIterator(), from: UTF8.self, to: UTF32.self, stoppingOnError: true, into: { _ in })
        guard !isBroken, string(text).unicodeScalars.allSatisfy({ Self.isCharacter($0.value) }) else {
            throw .malformed
        }
    }

    func string(_ text: ArraySlice<UInt8>) -> String { String(decoding: text, as: UTF8.self) }

    /// ASCII only: nothing that AWS sends is named otherwise.
    mutating func name() throws(XMLError) -> Range<Int> {
        let start = position
        while let byte = peek, Self.isName(byte) { position += 1 }
        guard position > start, Self.isNameStart(bytes[start]) else { throw .malformed }
        return start..<position
    }

    static func isNameStart(_ byte: UInt8) -> Bool {
        isLowercase(byte) || isUppercase(byte) || byte == UInt8(ascii: "_")
    }

    static func isName(_ byte: UInt8) -> Bool {
        isNameStart(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: ":")
    }

    mutating func takeName(like name: Range<Int>) -> Bool {
        guard bytes.count - position > name.count else { return false }
        for offset in 0..<name.count where bytes[position + offset] != bytes[name.lowerBound + offset] { return false }
        guard !Self.isName(bytes[position + name.count]) else { return false }
        position += name.count
        return true
    }

    func localName(_ name: Range<Int>) -> Range<Int> {
        var start = name.upperBound
        while start > name.lowerBound, bytes[start - 1] != UInt8(ascii: ":") { start -= 1 }
        return start..<name.upperBound
    }

    mutating func skipComment() throws(XMLError) {
        // "--" must not occur in a comment, so the first one ends it.
        try skip(past: "--")
        guard take(UInt8(ascii: ">")) else { throw .malformed }
    }

    /// - Returns: what was skipped, the end not included.
    @discardableResult
    mutating func skip(past end: StaticString) throws(XMLError) -> Range<Int> {
        let start = position
        while position < bytes.count {
            if starts(with: end) {
                let range = start..<position
                position += end.utf8CodeUnitCount
                try check(bytes[range])
                return range
            }
            position += 1
        }
        throw .malformed
    }

    mutating func skipBlanks() {
        while let byte = peek, isBlank(byte) { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    mutating func take(_ text: StaticString) -> Bool {
        guard starts(with: text) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard bytes.count - position >= text.count else { return false }
            for index in 0..<text.count where bytes[position + index] != text[index] { return false }
            return true
        }
    }

    var peek: UInt8? { position < bytes.count ? bytes[position] : nil }
}
