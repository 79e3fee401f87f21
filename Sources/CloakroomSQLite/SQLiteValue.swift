/// What a `?` of a statement stands for.
package enum SQLiteValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// `nil` is null, as in the following ones.
    package init(_ integer: Int64?) { self = integer.map(Self.integer) ?? .null }
    package init(_ integer: Int?) { self = integer.map { .integer(Int64($0)) } ?? .null }
    package init(_ real: Double?) { self = real.map(Self.real) ?? .null }
    package init(_ text: String?) { self = text.map(Self.text) ?? .null }
    package init(_ bytes: [UInt8]?) { self = bytes.map(Self.blob) ?? .null }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByNilLiteral
{
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .real(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(nilLiteral: ()) { self = .null }
}
