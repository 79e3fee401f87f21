extension JSON {
    /// Reads one JSON text: RFC 8259 to the letter, UTF-8 without a mark, no name twice in an object.
    ///
    /// Foundation's `JSONDecoder` would keep one of two equal names and let the other go unseen.
    /// - Parameter maximumDepth: how many arrays and objects may stand in each other.
    package init(parsing bytes: [UInt8], maximumDepth: Int = 16) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        self = try parser.text()
    }
}

struct JSONParser {
    let bytes: [UInt8]
    let maximumDepth: Int
    var index = 0

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func text() throws(JSONError) -> JSON {
        let value = try value(depth: 0)
        skipSpace()
        guard index == bytes.count else { throw malformed }
        return value
    }

    var malformed: JSONError { .malformed(at: index) }

    /// The next byte, or 0 at the end: no rule of the grammar takes a 0.
    var next: UInt8 { index < bytes.count ? bytes[index] : 0 }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON.Object {
        guard depth <= maximumDepth else { throw .tooDeep }
        index += 1
        var members: [JSON.Object.Member] = []
        if take("}") { return JSON.Object(members: []) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw malformed }
            let name = try string()
            guard take(":") else { throw malformed }
            members.append(JSON.Object.Member(name: name, value: try value(depth: depth)))
        } while take(",")
        guard take("}") else { throw malformed }
        guard Self.namesAreUnique(members) else { throw .duplicateName(at: index) }
        return JSON.Object(members: members)
    }

    private static func namesAreUnique(_ members: [JSON.Object.Member]) -> Bool {
        guard members.count > 12 else {
            for later in members.indices {
                let name = members[later].name
                for earlier in 0..<later where members[earlier].name.hasSameBytes(as: name) { return false }
            }
            return true
        }
        return Set(members.map { Array($0.name.utf8) }).count == members.count
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSON] {
        guard depth <= maximumDepth else { throw .tooDeep }
        index += 1
        if take("]") { return [] }
        var elements: [JSON] = []
        repeat { elements.append(try value(depth: depth)) } while take(",")
        guard take("]") else { throw malformed }
        return elements
    }

    mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes[index..<end].elementsEqual(word.description.utf8) else { throw malformed }
        index = end
        return value
    }

    /// Skips space, then takes the character if it is next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }
}
