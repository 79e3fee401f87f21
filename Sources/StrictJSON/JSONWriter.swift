/// Writes JSON without space between its parts, for answers whose shape is fixed.
///
/// Commas are the writer's affair; brackets must match, or the result is none.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func beginObject() { open("{") }
    package mutating func endObject() { close("}") }
    package mutating func beginArray() { open("[") }
    package mutating func endArray() { close("]") }

    /// The name of the member whose value comes next.
    package mutating func name(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// - Parameter name: of characters that JSON does not escape, for names known when compiling.
    package mutating func plainName(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// - Parameter text: of characters that JSON does not escape, known when compiling.
    package mutating func plainString(_ text: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        // Appended as it is, then looked at: nearly always there is nothing to escape, and bytes in an array are quick.
        let start = bytes.count
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
        if needsEscape(from: start) {
            bytes.removeSubrange(start...)
            for byte in text.utf8 { escaped(byte) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func integer(_ value: Int) { word(String(value)) }
    package mutating func bool(_ value: Bool) { word(value ? "true" : "false") }
    package mutating func null() { word("null") }

    package mutating func value(_ value: JSON) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): if let whole = Int(exactly: value) { integer(whole) } else { word("\(value)") }
        case .string(let value): string(value)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object):
            beginObject()
            for member in object.members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    private func needsEscape(from start: Int) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var found: UInt64 = 0
            var index = start
            while index + 8 <= bytes.count {
                found |= Self.escapes(in: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index += 8
            }
            if index < bytes.count {
                // What is less than a word is looked at in the last word of all, of which the rest goes.
                let known = index + 8 - bytes.count
                guard index >= known else { return found != 0 || bytes[index...].contains(where: Self.isEscaped) }
                let last = bytes.loadUnaligned(fromByteOffset: index - known, as: UInt64.self)
                found |= Self.escapes(in: UInt64(littleEndian: last)) &>> UInt64(8 * known)
            }
            return found != 0
        }
    }

    /// Eight bytes at a time: in `(x - n) & ~x` a byte below `n` sets its highest bit, and a byte that equals another is
    /// zero after XOR, so below one. A borrow can only come from a byte that counts itself.
    ///
    /// - Returns: the highest bits of the bytes that must be escaped, and perhaps of others behind such a one.
    private static func escapes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let delete = word ^ (ones &* 0x7F)
        let found =
            (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
            | (delete &- ones) & ~delete
        return found & (ones &* 0x80)
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        // Terminals do things at 0x7F, too.
        case 0..<0x20, 0x7F:
            bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
            bytes.append(contentsOf: String(byte, radix: 16).utf8)
        default: bytes.append(byte)
        }
    }

    private mutating func word(_ word: String) {
        separate()
        bytes.append(contentsOf: word.utf8)
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }
}

extension JSON {
    /// The value as a compact text.
    package var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
