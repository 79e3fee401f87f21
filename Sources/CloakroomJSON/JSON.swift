/// A JSON text as a value (RFC 8259).
package enum JSON: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    case null
    case bool(Bool)
    /// Always finite.
    case number(Double)
    case string(String)
    case array([JSON])
    case object(Object)

    /// Members in the order of the text, each name once.
    package struct Object: Sendable, Equatable, ExpressibleByDictionaryLiteral {
        package struct Member: Sendable, Equatable {
            package let name: String
            package let value: JSON

            package init(name: String, value: JSON) {
                self.name = name
                self.value = value
            }
        }

        package private(set) var members: [Member]

        package init(dictionaryLiteral elements: (String, JSON)...) {
            members = elements.map { Member(name: $0.0, value: $0.1) }
        }

        /// - Precondition: no name twice.
        package init(members: [Member]) { self.members = members }

        /// The value under exactly these bytes: Swift's own `==` would take a Kelvin sign for a K.
        package subscript(name: String) -> JSON? {
            for index in members.indices where members[index].name.hasSameBytes(as: name) {
                return members[index].value
            }
            return nil
        }

        package func mapValues(_ transform: (JSON) -> JSON) -> Object {
            Object(members: members.map { Member(name: $0.name, value: transform($0.value)) })
        }

        package func filter(_ isIncluded: (String) -> Bool) -> Object {
            Object(members: members.filter { isIncluded($0.name) })
        }
    }
}

/// How a text fails to be the JSON we take.
package enum JSONError: Error, Sendable, Equatable {
    /// The grammar of RFC 8259 has no such text; the offset is in bytes.
    case malformed(at: Int)
    case tooDeep
    /// RFC 8259 §4 leaves this open, and readers disagree about the meaning.
    case duplicateName(at: Int)
    /// Not UTF-8, or half of a surrogate pair in an escape.
    case notUnicode
    /// A number beyond what a Double holds.
    case outOfRange
}

extension JSON {
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Object(members: elements.map { Object.Member(name: $0.0, value: $0.1) }))
    }

    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var number: Double? { if case .number(let value) = self { value } else { nil } }
    package var integer: Int? { number.flatMap(Int.init(exactly:)) }
    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    package var object: Object? { if case .object(let value) = self { value } else { nil } }

    /// The strings of an array of strings; `nil` for anything else.
    package var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }
}

extension String {
    /// Equality of bytes, where `==` asks for canonical equivalence (Unicode Standard Annex 15).
    package func hasSameBytes(as other: String) -> Bool {
        // `elementsEqual` would call an iterator for each byte; mostly the lengths say enough.
        guard utf8.count == other.utf8.count else { return false }
        let known = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                for index in 0..<left.count where left[index] != right[index] { return false }
                return true
            }
        }
        return (known ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
