/// Why bytes are no document that AWS would send.
package enum XMLError: Error, Sendable, Equatable {
    case malformed
    /// A document type declaration; what entities it may define is nothing we want to know.
    case declaration
    /// Larger, deeper or with more elements than any response of STS or S3 about one thing.
    case tooLarge
}

/// Reads the XML of responses of STS, S3 and their like: UTF-8, elements, text, the five named entities.
///
/// A small reader of our own, because it refuses declarations before it has read them, keeps libxml2 out of the
/// process, and takes a fifth of the time. Attributes and namespaces are checked for form, and dropped.
/// Source: W3C, Extensible Markup Language 1.0 (Fifth Edition).
package struct XMLReader {
    /// How much is read; the default is for a response about one thing.
    package struct Limits: Sendable {
        package var bytes = 1 << 18
        package var elements = 4096

        package init(bytes: Int = 1 << 18, elements: Int = 4096) {
            self.bytes = bytes
            self.elements = elements
        }
    }

    private static let maximumDepth = 16

    private let limits: Limits
    let bytes: [UInt8]
    private var document: XMLDocument
    var position = 0
    /// The texts of open elements that are not contiguous in the bytes, the innermost one's last.
    var texts: [UInt8] = []

    /// What has been read of a text: a piece of the bytes, as long as that is all, else what lies in `texts`.
    private struct Text {
        var piece: Range<Int>?
        /// Where it begins in `texts`.
        let start: Int
    }

    /// - Returns: the root element.
    package static func read(_ bytes: [UInt8], limits: Limits = Limits()) throws(XMLError) -> XMLElement {
        guard bytes.count <= limits.bytes else { throw .tooLarge }
        var reader = XMLReader(bytes, limits)
        try reader.read()
        return XMLElement(reader.document, 0)
    }

    private init(_ bytes: [UInt8], _ limits: Limits) {
        self.bytes = bytes
        self.limits = limits
        document = XMLDocument(bytes: bytes)
        document.nodes.reserveCapacity(16)
    }

    private mutating func read() throws(XMLError) {
        _ = take("\u{FEFF}")
        // Blanks before the declaration are S3 keeping us waiting.
        skipBlanks()
        // What AWS writes, and else what it might.
        if !take(#"<?xml version="1.0" encoding="UTF-8"?>"#), take("<?xml") { try declaration() }
        try skipMiscellany()
        guard take(UInt8(ascii: "<")) else { throw .malformed }
        try element(depth: 1)
        try skipMiscellany()
        guard position == bytes.count else { throw .malformed }
    }

    /// `<?xml` has been taken. Only UTF-8 is read, so nothing else may be announced.
    private mutating func declaration() throws(XMLError) {
        var names = ["version", "encoding", "standalone"][...]
        while let attribute = try attribute() {
            guard let index = names.firstIndex(where: { $0.utf8.elementsEqual(bytes[attribute.name]) }) else {
                throw .malformed
            }
            let value = string(attribute.value).lowercased()
            let isGood =
                switch names[index] {
                case "version": value == "1.0" || value == "1.1"
                case "encoding": value == "utf-8"
                default: value == "yes" || value == "no"
                }
            guard isGood, index == 0 || names.startIndex > 0 else { throw .malformed }
            names = names[(index + 1)...]
        }
        guard names.startIndex > 0, take("?>") else { throw .malformed }
    }

    /// An instruction, whose `<?` has been taken; `xml` would be a declaration where none may be.
    private mutating func skipInstruction() throws(XMLError) {
        guard string(bytes[try self.name()]).lowercased() != "xml" else { throw .malformed }
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
    private mutating func element(depth: Int) throws(XMLError) {
        guard depth <= Self.maximumDepth, document.nodes.count < limits.elements else { throw .tooLarge }
        let name = try self.name()
        let index = document.nodes.count
        document.nodes.append(XMLDocument.Node(name: localName(name), end: index + 1))
        if try skipAttributes() { return }
        var text = Text(start: texts.count)
        while true {
            try read(&text)
            // `read` stops at `<` only.
            position += 1
            switch peek {
            case UInt8(ascii: "/"):
                position += 1
                guard takeName(like: name) else { throw .malformed }
                skipBlanks()
                guard take(UInt8(ascii: ">")) else { throw .malformed }
                try keep(text, of: index)
                document.nodes[index].end = document.nodes.count
                return
            case UInt8(ascii: "?"):
                position += 1
                try skipInstruction()
            case UInt8(ascii: "!"):
                if take("!--") {
                    try skipComment()
                } else if take("![CDATA[") {
                    add(try skip(past: "]]>"), to: &text)
                } else {
                    throw .declaration
                }
            default:
                // What is in it uses `texts` as well.
                moveAside(&text)
                try element(depth: depth + 1)
            }
        }
    }

    /// - Returns: whether the tag was an empty element's.
    private mutating func skipAttributes() throws(XMLError) -> Bool {
        if take(UInt8(ascii: ">")) { return false }
        var seen: [Range<Int>] = []
        while let (name, _) = try attribute() {
            guard !seen.contains(where: { bytes[$0] == bytes[name] }) else { throw .malformed }
            seen.append(name)
        }
        if take(UInt8(ascii: ">")) { return false }
        guard take("/>") else { throw .malformed }
        return true
    }

    /// - Returns: the next attribute of a tag; `nil` where no name follows.
    private mutating func attribute() throws(XMLError) -> (name: Range<Int>, value: ArraySlice<UInt8>)? {
        let start = position
        skipBlanks()
        guard let byte = peek, Self.isNameStart(byte) else { return nil }
        guard position > start else { throw .malformed }
        let name = try self.name()
        skipBlanks()
        guard take(UInt8(ascii: "=")) else { throw .malformed }
        skipBlanks()
        guard let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw .malformed }
        position += 1
        var value = Text(start: texts.count)
        while true {
            let start = position
            while let byte = peek, byte != quote, !Self.isSpecial(byte) { position += 1 }
            add(start..<position, to: &value)
            guard let byte = peek, byte != UInt8(ascii: "<") else { throw .malformed }
            if byte == quote { break }
            moveAside(&value)
            try character()
        }
        position += 1
        let read = value.piece.map { bytes[$0] } ?? texts[value.start...]
        try check(read)
        texts.removeSubrange(value.start...)
        return (name, read)
    }

    /// Up to the next `<`.
    private mutating func read(_ text: inout Text) throws(XMLError) {
        while true {
            let start = position
            position = endOfPlainText()
            add(start..<position, to: &text)
            guard let byte = peek else { throw .malformed }
            if byte == UInt8(ascii: "<") { return }
            if byte == UInt8(ascii: "]"), starts(with: "]]>") { throw .malformed }
            moveAside(&text)
            try character()
        }
    }

    private mutating func add(_ piece: Range<Int>, to text: inout Text) {
        guard !piece.isEmpty else { return }
        if text.piece == nil, texts.count == text.start {
            text.piece = piece
        } else {
            moveAside(&text)
            texts.append(contentsOf: bytes[piece])
        }
    }

    /// Makes room for what does not follow in the bytes.
    private mutating func moveAside(_ text: inout Text) {
        guard let piece = text.piece else { return }
        texts.append(contentsOf: bytes[piece])
        text.piece = nil
    }

    private mutating func keep(_ text: Text, of index: Int) throws(XMLError) {
        if let piece = text.piece {
            try check(bytes[piece])
            document.nodes[index].text = piece
        } else if texts.count > text.start {
            try check(texts[text.start...])
            let start = document.decoded.count
            document.decoded.append(contentsOf: texts[text.start...])
            texts.removeSubrange(text.start...)
            document.nodes[index].text = start..<document.decoded.count
            document.nodes[index].isTextDecoded = true
        }
    }

    /// A session token is long. In blocks without a branch for single bytes, the compiler makes vectors of it.
    private func endOfPlainText() -> Int {
        let all = bytes[...]
        let bytes = all.span
        let width = 32
        var end = position
        while bytes.count - end >= width {
            let block = bytes.extracting(end..<end + width)
            // The difference to a special byte is zero for this byte alone.
            var least = UInt8.max
            for index in 0..<width {
                let byte = block[index]
                least = min(
                    least, byte ^ UInt8(ascii: "<"), byte ^ UInt8(ascii: "&"), byte ^ UInt8(ascii: "\r"),
                    byte ^ UInt8(ascii: "]"))
            }
            if least == 0 { break }
            end += width
        }
        while end < bytes.count, !Self.isSpecial(bytes[end]) { end += 1 }
        return end
    }
}
