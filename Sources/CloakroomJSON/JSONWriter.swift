import CloakroomHTTP

/// Writes JSON without space between its parts, for responses whose shape is fixed.
///
/// Commas are the writer's affair; brackets must match, or the result is none.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// What is written next stands by itself, in the same memory.
    package mutating func startAgain() {
        bytes.removeAll(keepingCapacity: bytes.count < 1 << 20)
        needsComma = false
    }

    /// Goes on with an object that another writer began: it is open, and has a member.
    package mutating func resume(_ object: ArraySlice<UInt8>) {
        bytes.append(contentsOf: object)
        needsComma = true
    }

    /// Members that were written before, with their commas between them.
    package mutating func members(_ members: [UInt8]) {
        separate()
        bytes.append(contentsOf: members)
    }

    /// The same, of those that are known when compiling.
    package mutating func members(_ members: StaticString) {
        separate()
        members.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// A line of JSON is whole: what is written next is the next one.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

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
        let isFirst = !needsComma
        needsComma = false
        name.withUTF8Buffer { name in
            bytes.append(addingCapacity: name.count + 4) { output in
                output.append(name: name, isFirst: isFirst)
            }
        }
    }

    /// - Parameter text: of characters that JSON does not escape, known when compiling.
    package mutating func plainString(_ text: StaticString) { text.withUTF8Buffer { plain($0) } }

    /// A string of characters that JSON does not escape, and that need not be a `String` first.
    package mutating func plainString(count: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
        separate()
        bytes.append(addingCapacity: count + 2) { output in
            output.append(UInt8(ascii: "\""))
            write(&output)
            output.append(UInt8(ascii: "\""))
        }
    }

    package mutating func string(_ text: String) {
        let isWritten = text.utf8.withContiguousStorageIfAvailable { text in
            guard text.isPlain else { return false }
            plain(text)
            return true
        }
        if isWritten != true { escaped(text) }
    }

    /// A name, as for ``plainName(_:)``, and its value.
    package mutating func member(_ name: StaticString, _ value: String) {
        guard !plainMember(name, value) else { return }
        plainName(name)
        escaped(value)
    }

    package mutating func member(_ name: StaticString, _ value: Int) {
        let isFirst = !needsComma
        needsComma = true
        name.withUTF8Buffer { name in
            bytes.append(addingCapacity: name.count + 24) { output in
                output.append(name: name, isFirst: isFirst)
                output.append(decimal: value)
            }
        }
    }

    /// A member whose value is plain ASCII, in one go.
    ///
    /// - Returns: whether it is; if not, nothing is written.
    package mutating func plainMember(_ name: StaticString, _ value: String) -> Bool {
        value.utf8.withContiguousStorageIfAvailable { value in
            guard value.isPlain else { return false }
            let isFirst = !needsComma
            needsComma = true
            name.withUTF8Buffer { name in
                bytes.append(addingCapacity: name.count + value.count + 6) { output in
                    output.append(name: name, isFirst: isFirst)
                    output.append(UInt8(ascii: "\""))
                    output.append(value)
                    output.append(UInt8(ascii: "\""))
                }
            }
            return true
        } ?? false
    }

    package mutating func integer(_ value: Int) {
        separate()
        bytes.append(addingCapacity: 20) { $0.append(decimal: value) }
    }

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

    private mutating func plain(_ text: UnsafeBufferPointer<UInt8>) {
        plainString(count: text.count) { $0.append(text) }
    }

    private mutating func escaped(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 { escaped(byte) }
        bytes.append(UInt8(ascii: "\""))
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
