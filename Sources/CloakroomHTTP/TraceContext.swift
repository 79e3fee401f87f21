/// Which trace a request belongs to, as its `traceparent` says.
///
/// An object, for few requests have one and all are copied.
///
/// Source: W3C Recommendation "Trace Context", §3.2.
package final class TraceContext: Sendable, Equatable {
    /// The first and the last 16 of 32 hexadecimal digits; not both 0.
    package let high: UInt64
    package let low: UInt64
    /// The caller's span; not 0.
    package let parent: UInt64
    package let isSampled: Bool

    private static let length = 55

    /// - Parameter value: of the header field.
    /// - Returns: `nil` for what is not exactly of that form: it is as if there were none (§3.2.2.5).
    package init?(_ value: Span<UInt8>) {
        guard value.count >= Self.length, value[2] == Self.dash, value[35] == Self.dash, value[52] == Self.dash,
            let version = Self.number(value, at: 0, digits: 2), version != 0xFF,
            // Later versions may have more, behind another dash (§4.2).
            value.count == Self.length || version > 0 && value[Self.length] == Self.dash,
            let high = Self.number(value, at: 3, digits: 16), let low = Self.number(value, at: 19, digits: 16),
            let parent = Self.number(value, at: 36, digits: 16), let flags = Self.number(value, at: 53, digits: 2),
            high | low != 0, parent != 0
        else { return nil }
        (self.high, self.low, self.parent) = (high, low, parent)
        isSampled = flags & 1 == 1
    }

    package static func == (left: TraceContext, right: TraceContext) -> Bool {
        (left.high, left.low, left.parent, left.isSampled) == (right.high, right.low, right.parent, right.isSampled)
    }

    private static let dash = UInt8(ascii: "-")

    /// Lower case alone: §3.2.2 says that readers take no other.
    private static func number(_ text: Span<UInt8>, at start: Int, digits: Int) -> UInt64? {
        var number: UInt64 = 0
        for index in start..<start + digits {
            let digit = text[index]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}
