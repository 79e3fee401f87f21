extension JSON {
    /// Reads JSON5 (spec.json5.org), what people write by hand: comments, names without quotes, commas at the end.
    ///
    /// Foundation's decoder reads it too, but says neither where a mistake is nor that a name stands twice.
    /// `NaN` and `Infinity` are refused: nothing takes them.
    package init(parsingJSON5 bytes: [UInt8], maximumDepth: Int = 16) throws(JSONError) {
        var parser = JSON5Parser(text: JSONParser(bytes: bytes, maximumDepth: maximumDepth))
        self = try parser.whole()
    }
}

struct JSON5Parser {
    /// The bytes, the place in them, and what JSON5 has in common with JSON.
    var text: JSONParser

    mutating func whole() throws(JSONError) -> JSON {
        let value = try value(depth: 0)
        try skipSpace()
        guard text.index == text.bytes.count else { throw text.malformed }
        return value
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        try skipSpace()
        switch text.next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string())
        case UInt8(ascii: "t"): return try text.word("true", .bool(true))
        case UInt8(ascii: "f"): return try text.word("false", .bool(false))
        case UInt8(ascii: "n"): return try text.word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON.Object {
        guard depth <= text.maximumDepth else { throw .tooDeep }
        text.index += 1
        var members: [JSON.Object.Member] = []
        while try !take("}") {
            let start = text.index
            let isQuoted = text.next == UInt8(ascii: "\"") || text.next == UInt8(ascii: "'")
            let name = isQuoted ? try string() : try identifier()
            guard !members.contains(where: { $0.name.hasSameBytes(as: name) }) else {
                throw .duplicateName(at: start)
            }
            guard try take(":") else { throw text.malformed }
            members.append(JSON.Object.Member(name: name, value: try value(depth: depth)))
            if try take(",") { continue }
            guard try take("}") else { throw text.malformed }
            break
        }
        return JSON.Object(members: members)
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSON] {
        guard depth <= text.maximumDepth else { throw .tooDeep }
        text.index += 1
        var elements: [JSON] = []
        while try !take("]") {
            elements.append(try value(depth: depth))
            if try take(",") { continue }
            guard try take("]") else { throw text.malformed }
            break
        }
        return elements
    }

    /// A name without quotes: letters, digits, `$`, `_`, and whatever is not ASCII and no space.
    private mutating func identifier() throws(JSONError) -> String {
        let start = text.index
        while true {
            switch text.next {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "$"),
                UInt8(ascii: "_"):
                text.index += 1
            case 0x80... where wideSpaceLength == 0:
                text.index += 1
            case UInt8(ascii: "0")...UInt8(ascii: "9") where text.index > start:
                text.index += 1
            default:
                guard text.index > start else { throw text.malformed }
                return try JSONParser.decoded(text.bytes[start..<text.index], isASCII: false)
            }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) throws(JSONError) -> Bool {
        try skipSpace()
        guard text.next == UInt8(ascii: character) else { return false }
        text.index += 1
        return true
    }

    private mutating func skipSpace() throws(JSONError) {
        while text.index < text.bytes.count {
            switch text.bytes[text.index] {
            case 0x20, 0x09...0x0D: text.index += 1
            case UInt8(ascii: "/"): try skipComment()
            default:
                let length = wideSpaceLength
                guard length > 0 else { return }
                text.index += length
            }
        }
    }

    /// In bytes, that of the space beyond ASCII that comes next; 0 for none.
    private var wideSpaceLength: Int {
        switch text.next {
        case 0xC2 where follows([0xC2, 0xA0]): 2
        case 0xE2 where follows([0xE2, 0x80, 0xA8]) || follows([0xE2, 0x80, 0xA9]): 3
        case 0xEF where follows([0xEF, 0xBB, 0xBF]): 3
        default: 0
        }
    }

    private mutating func skipComment() throws(JSONError) {
        let start = text.index
        if follows(Array("//".utf8)) {
            while text.index < text.bytes.count, text.next != 0x0A, text.next != 0x0D { text.index += 1 }
            return
        }
        guard follows(Array("/*".utf8)) else { throw text.malformed }
        text.index += 2
        while !follows(Array("*/".utf8)) {
            guard text.index < text.bytes.count else { throw .malformed(at: start) }
            text.index += 1
        }
        text.index += 2
    }

    private func follows(_ bytes: [UInt8]) -> Bool { text.bytes[text.index...].starts(with: bytes) }
}
