import CloakroomJSON

/// The elements of a JSON array, or of the array `messages` of an object, one at a time: a file of many messages is not
/// in memory as values.
struct LegacyElements {
    private let bytes: [UInt8]
    private var position = 0
    private let isObject: Bool
    private var names: Set<String> = []
    private var isFirst = true
    private var isAtEnd = false
    /// Members of the object that are not `null`, besides the array; all of them at the end.
    private(set) var otherMembers: [String] = []

    private static let notJSON = LegacyFileFault.damaged("it is not JSON, or has a name twice")
    private static let noArray = LegacyFileFault.damaged("it has no array of messages")
    private static let arrayName = "messages"

    init(_ bytes: [UInt8]) throws(LegacyFileFault) {
        self.bytes = bytes
        position = bytes.firstIndex { !Self.isSpace($0) } ?? bytes.count
        isObject = position < bytes.count && bytes[position] == UInt8(ascii: "{")
        if isObject {
            position += 1
            guard try enterMembers(first: true) else { throw Self.noArray }
        }
        guard take("[") else { throw Self.noArray }
    }

    /// - Returns: `nil` at the end, behind which is nothing but the rest of the object.
    mutating func next() throws(LegacyFileFault) -> JSON? {
        guard !isAtEnd else { return nil }
        skipSpace()
        if take("]") {
            // Another array of the same name is a name twice.
            if isObject, try enterMembers(first: false) { throw Self.notJSON }
            skipSpace()
            guard position == bytes.count else { throw Self.notJSON }
            isAtEnd = true
            return nil
        }
        guard isFirst || take(",") else { throw Self.notJSON }
        isFirst = false
        return try value()
    }

    /// Goes through members of the object up to the array.
    ///
    /// - Returns: `false` at the end of the object.
    private mutating func enterMembers(first: Bool) throws(LegacyFileFault) -> Bool {
        var isFirst = first
        while true {
            skipSpace()
            if take("}") { return false }
            guard isFirst || take(",") else { throw Self.notJSON }
            isFirst = false
            guard let name = try value().string, names.insert(name).inserted else { throw Self.notJSON }
            skipSpace()
            guard take(":") else { throw Self.notJSON }
            skipSpace()
            if name == Self.arrayName, position < bytes.count, bytes[position] == UInt8(ascii: "[") { return true }
            if try value() != .null { otherMembers.append(name) }
        }
    }

    private mutating func value() throws(LegacyFileFault) -> JSON {
        skipSpace()
        let start = position
        var (depth, isInString) = (0, false)
        scan: while position < bytes.count {
            let byte = bytes[position]
            if isInString {
                if byte == UInt8(ascii: "\\") { position += 1 }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    if depth == 0 { break scan }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"): if depth == 0 { break scan }
                default: break
                }
            }
            position += 1
        }
        // What has other brackets than they seem is found here.
        do { return try JSON(parsing: Array(bytes[start..<min(position, bytes.count)])) } catch { throw Self.notJSON }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x0A, 0x0D, 0x09].contains(byte) }
}
