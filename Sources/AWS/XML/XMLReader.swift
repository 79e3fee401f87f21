/// Why bytes are no document that AWS would send.
package enum XMLError: Error, Sendable, Equatable {
    case malformed
    /// A document type declaration; what entities it may define is nothing we want to know.
    case declaration
    /// Larger, deeper or with more elements than any answer of STS or S3 about one thing.
    case tooLarge
}

/// Reads the XML that STS, S3 and their like answer with: UTF-8, elements, text, the five named entities.
///
/// A small reader of our own, because it refuses declarations before it has read them, keeps libxml2 out of the
/// process, and takes a fifth of the time. Attributes and namespaces are checked for form, and dropped.
/// Source: W3C, Extensible Markup Language 1.0 (Fifth Edition).
package struct XMLReader {
    private static let maximumBytes = 1 << 18
    private static let maximumDepth = 16
    private static let maximumElements = 4096

    private let bytes: [UInt8]
    private var position = 0
    private var elements = 0

    /// - Returns: the root element.
    package static func read(_ bytes: [UInt8]) throws(XMLError) -> XMLElement {
        guard bytes.count <= maximumBytes else { throw .tooLarge }
        var reader = XMLReader(bytes)
        return try reader.document()
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    private mutating func document() throws(XMLError) -> XMLElement {
        _ = take("\u{FEFF}")
        // Blanks before the declaration are S3 keeping us waiting.
        skipBlanks()
        // What AWS writes, and else what it might.
        if !take(#"<?xml version="1.0" encoding="UTF-8"?>"#), take("<?xml") { try declaration() }
        try skipMiscellany()
        guard take("<") else { throw .malformed }
        let root = try element(depth: 1)
        try skipMiscellany()
        guard position == bytes.count else { throw .malformed }
        return root
    }

    /// `<?xml` has been taken. Only UTF-8 is read, so nothing else may be announced.
    private mutating func declaration() throws(XMLError) {
        var names = ["version", "encoding", "standalone"][...]
        while let attribute = try attribute() {
            guard let place = names.firstIndex(where: { $0.utf8.elementsEqual(bytes[attribute.name]) }) else {
                throw .malformed
            }
            let value = String(decoding: attribute.value, as: UTF8.self).lowercased()
            let isGood =
                switch names[place] {
                case "version": value == "1.0" || value == "1.1"
                case "encoding": value == "utf-8"
                default: value == "yes" || value == "no"
                }
            guard isGood, place == 0 || names.startIndex > 0 else { throw .malformed }
            names = names[(place + 1)...]
        }
        guard names.startIndex > 0, take("?>") else { throw .malformed }
    }

    /// An instruction, whose `<?` has been taken; `xml` would be a declaration where none may be.
    private mutating func skipInstruction() throws(XMLError) {
        let name = String(decoding: bytes[try self.name()], as: UTF8.self)
        guard name.lowercased() != "xml" else { throw .malformed }
        let start = position
        skipBlanks()
        guard position > start || starts(with: "?>") else { throw .malformed }
        try skip(past: "?>")
    }

    /// What may stand around the root: blanks, comments, instructions.
    private mutating func skipMiscellany() throws(XMLError) {
        while true {
            skipBlanks()
            if take("<?") {
                try skipInstruction()
            } else if take("<!--") {
                try skipComment()
            } else if take("<!") {
                throw .declaration
            } else {
                return
            }
        }
    }

    /// An element whose `<` has been taken.
    private mutating func element(depth: Int) throws(XMLError) -> XMLElement {
        elements += 1
        guard depth <= Self.maximumDepth, elements <= Self.maximumElements else { throw .tooLarge }
        let name = try self.name()
        var element = XMLElement(name: localName(name))
        if try skipAttributes() { return element }
        var text: [UInt8] = []
        while true {
            try self.text(into: &text)
            // `text` stops at `<` only.
            position += 1
            switch peek {
            case UInt8(ascii: "/"):
                position += 1
                guard bytes[try self.name()] == bytes[name] else { throw .malformed }
                skipBlanks()
                guard take(">") else { throw .malformed }
                element.text = try decoded(text)
                return element
            case UInt8(ascii: "?"):
                position += 1
                try skipInstruction()
            case UInt8(ascii: "!"):
                if take("!--") {
                    try skipComment()
                } else if take("![CDATA[") {
                    text.append(contentsOf: bytes[try skip(past: "]]>")])
                } else {
                    throw .declaration
                }
            default:
                element.children.append(try self.element(depth: depth + 1))
            }
        }
    }

    /// - Returns: whether the tag was an empty element's.
    private mutating func skipAttributes() throws(XMLError) -> Bool {
        var seen: [Range<Int>] = []
        while let attribute = try attribute() {
            guard !seen.contains(where: { bytes[$0] == bytes[attribute.name] }) else { throw .malformed }
            seen.append(attribute.name)
            _ = try decoded(attribute.value)
        }
        if take(">") { return false }
        guard take("/>") else { throw .malformed }
        return true
    }

    /// - Returns: the next attribute of a tag; `nil` where no name follows.
    private mutating func attribute() throws(XMLError) -> (name: Range<Int>, value: [UInt8])? {
        let start = position
        skipBlanks()
        guard let byte = peek, Self.isNameStart(byte) else { return nil }
        guard position > start else { throw .malformed }
        let name = try self.name()
        skipBlanks()
        guard take("=") else { throw .malformed }
        skipBlanks()
        guard let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw .malformed }
        position += 1
        var value: [UInt8] = []
        while let byte = peek, byte != quote {
            guard byte != UInt8(ascii: "<") else { throw .malformed }
            try character(into: &value)
        }
        guard peek == quote else { throw .malformed }
        position += 1
        return (name, value)
    }

    /// Up to the next `<`.
    private mutating func text(into text: inout [UInt8]) throws(XMLError) {
        while true {
            let start = position
            while position < bytes.count, !Self.isSpecial(bytes[position]) { position += 1 }
            if position > start { text.append(contentsOf: bytes[start..<position]) }
            guard let byte = peek else { throw .malformed }
            if byte == UInt8(ascii: "<") { return }
            if byte == UInt8(ascii: "]"), starts(with: "]]>") { throw .malformed }
            try character(into: &text)
        }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "]")
    }

    /// One byte of text, a line end, or a whole reference.
    private mutating func character(into text: inout [UInt8]) throws(XMLError) {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "&"):
            try reference(into: &text)
        case UInt8(ascii: "\r"):
            if peek != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        default:
            text.append(byte)
        }
    }

    private mutating func reference(into text: inout [UInt8]) throws(XMLError) {
        let start = position
        while let byte = peek, byte != UInt8(ascii: ";"), position - start < 10 { position += 1 }
        let name = bytes[start..<position]
        guard take(";") else { throw .malformed }
        if name.first == UInt8(ascii: "#") {
            guard let scalar = Self.scalar(name.dropFirst()) else { throw .malformed }
            text.append(contentsOf: Character(scalar).utf8)
            return
        }
        guard let entity = Self.entities.first(where: { $0.name.utf8.elementsEqual(name) }) else { throw .malformed }
        text.append(entity.value)
    }

    private static let entities: [(name: String, value: UInt8)] = [
        ("quot", UInt8(ascii: "\"")), ("amp", UInt8(ascii: "&")), ("lt", UInt8(ascii: "<")),
        ("gt", UInt8(ascii: ">")), ("apos", UInt8(ascii: "'")),
    ]

    private static func scalar(_ digits: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let isHexadecimal = digits.first == UInt8(ascii: "x")
        let text = String(decoding: isHexadecimal ? digits.dropFirst() : digits, as: UTF8.self)
        guard !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let number = UInt32(text, radix: isHexadecimal ? 16 : 10), isCharacter(number)
        else { return nil }
        return Unicode.Scalar(number)
    }

    /// Production 2, `Char`.
    private static func isCharacter(_ number: UInt32) -> Bool {
        number >= 0x20 ? number != 0xFFFE && number != 0xFFFF : number == 0x9 || number == 0xA || number == 0xD
    }

    private func decoded(_ text: [UInt8]) throws(XMLError) -> String {
        var isPlain = true
        for byte in text {
            guard Self.isCharacter(UInt32(byte)) else { throw .malformed }
            if byte >= 0x80 { isPlain = false }
        }
        if !isPlain {
            let isBroken = transcode(
                text.makeIterator(), from: UTF8.self, to: UTF32.self, stoppingOnError: true, into: { _ in })
            guard !isBroken else { throw .malformed }
        }
        let string = String(decoding: text, as: UTF8.self)
        guard isPlain || string.unicodeScalars.allSatisfy({ Self.isCharacter($0.value) }) else { throw .malformed }
        return string
    }

    /// ASCII only: nothing that AWS sends is named otherwise.
    private mutating func name() throws(XMLError) -> Range<Int> {
        let start = position
        while let byte = peek, Self.isName(byte) { position += 1 }
        guard position > start, Self.isNameStart(bytes[start]) else { throw .malformed }
        return start..<position
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) && !isDigit(byte) || isUppercase(byte) || byte == UInt8(ascii: "_")
    }

    private static func isName(_ byte: UInt8) -> Bool {
        isNameStart(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: ":")
    }

    private func localName(_ name: Range<Int>) -> String {
        let start = bytes[name].lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.lowerBound
        return String(decoding: bytes[start..<name.upperBound], as: UTF8.self)
    }

    private mutating func skipComment() throws(XMLError) {
        // "--" must not occur in a comment, so the first one ends it.
        try skip(past: "--")
        guard take(">") else { throw .malformed }
    }

    /// - Returns: what was skipped, the end not included.
    @discardableResult
    private mutating func skip(past end: StaticString) throws(XMLError) -> Range<Int> {
        let start = position
        while position < bytes.count {
            if starts(with: end) {
                let range = start..<position
                position += end.utf8CodeUnitCount
                _ = try decoded(Array(bytes[range]))
                return range
            }
            position += 1
        }
        throw .malformed
    }

    private mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        guard starts(with: text) else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard bytes.count - position >= text.count else { return false }
            for index in 0..<text.count where bytes[position + index] != text[index] { return false }
            return true
        }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }
}
