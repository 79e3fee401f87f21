/// The fields of a message, in order; names compare without regard to case (RFC 9110 §5.1).
///
/// They lie packed in two arrays, so that a message of a dozen fields costs two allocations and its lines can be
/// signed and sent without becoming strings first.
package struct HeaderFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection,
    CustomStringConvertible, CustomDebugStringConvertible
{
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Where in ``text`` a field stands.
    package struct Location: Sendable, Equatable {
        fileprivate let start: Int32
        fileprivate let colon: Int32
        /// Of the NUL.
        fileprivate let end: Int32

        package var name: Range<Int> { Int(start)..<Int(colon) }
        package var value: Range<Int> { Int(colon) + 2..<Int(end) }
        package var line: Range<Int> { Int(start)..<Int(end) }
    }

    /// `name: value` and a NUL for each field, one behind the other.
    package private(set) var text: [UInt8] = []
    package private(set) var locations: [Location] = []

    package init(_ fields: [Field] = []) {
        for field in fields { add(field.name, field.value) }
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name, value) }
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { locations.count }
    package subscript(position: Int) -> Field {
        Field(name: string(locations[position].name), value: string(locations[position].value))
    }

    /// Without the values that open something.
    package var description: String {
        map { field in
            let isSecret = Self.secret.contains { Self.same($0, field.name) }
            return "\(field.name): \(isSecret ? "<secret>" : field.value)"
        }.joined(separator: "; ")
    }

    private static let secret = ["authorization", "x-amz-security-token", "cookie"]

    package var debugDescription: String { description }

    /// The first value under this name; setting replaces every value, `nil` removes them.
    package subscript(name: String) -> String? {
        get { location(of: name).map { string($0.value) } }
        set {
            if location(of: name) != nil { remove(name) }
            if let newValue { add(name, newValue) }
        }
    }

    /// Where the first field of this name stands.
    package func location(of name: String) -> Location? {
        name.withUTF8Span { name in
            text.withUnsafeBufferPointer { text in
                locations.first { $0.name.count == name.count && Self.same(text.span.extracting($0.name), name) }
            }
        }
    }

    package mutating func add(_ name: String, _ value: String) {
        var (name, value) = (name, value)
        name.withUTF8 { name in value.withUTF8 { value in append(name.span, value.span) } }
    }

    /// Bytes that are not UTF-8 stay as they are; read as a string, they are replaced.
    package mutating func add(_ name: String, _ value: Span<UInt8>) {
        var name = name
        name.withUTF8 { append($0.span, value) }
    }

    package mutating func add(_ name: String, _ value: [UInt8]) {
        let slice = value[...]
        add(name, slice.span)
    }

    package mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) { append(name, value) }

    /// Adds a field whose value `write` appends, at most `capacity` bytes.
    package mutating func add(
        _ name: String, addingCapacity capacity: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        name.withUTF8Span { append($0, addingCapacity: capacity, write) }
    }

    /// All of them, in their order.
    package mutating func add(_ fields: HeaderFields) {
        let offset = Int32(text.count)
        text.append(contentsOf: fields.text)
        for location in fields.locations {
            locations.append(
                Location(start: location.start + offset, colon: location.colon + offset, end: location.end + offset))
        }
    }

    /// Room for so many fields of so many bytes altogether, so that adding them moves nothing.
    package mutating func reserve(fields: Int, bytes: Int) {
        locations.reserveCapacity(fields)
        text.reserveCapacity(bytes + 3 * fields)
    }

    private mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        append(name, addingCapacity: value.count) { $0.append(copying: value) }
    }

    @inline(__always) private mutating func append(
        _ name: Span<UInt8>, addingCapacity capacity: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        let start = text.count
        text.append(addingCapacity: name.count + capacity + 3) { text in
            text.append(copying: name)
            text.append(UInt8(ascii: ":"))
            text.append(UInt8(ascii: " "))
            write(&text)
            text.append(0)
        }
        locations.append(
            Location(start: Int32(start), colon: Int32(start + name.count), end: Int32(text.count - 1)))
    }

    private mutating func remove(_ name: String) {
        let old = self
        self = HeaderFields()
        for field in old where !Self.same(field.name, name) { add(field.name, field.value) }
    }

    private func string(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }

    private static func same(_ left: String, _ right: String) -> Bool {
        left.withUTF8Span { left in right.withUTF8Span { right in same(left, right) } }
    }

    private static func same(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices {
            let (left, right) = (left[index], right[index])
            guard left == right || lowercased(left) == lowercased(right) else { return false }
        }
        return true
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
