/// Names one request in the log, in the audit and in nginx's own log: 16 hexadecimal digits.
package struct RequestID: Sendable, Equatable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// - Parameter digits: the first 16 digits count, of nginx's `$request_id` the first half.
    /// - Returns: `nil` if those are not lower-case hexadecimal.
    package init?(hexadecimal digits: Span<UInt8>) {
        guard digits.count >= 16 else { return nil }
        var value: UInt64 = 0
        for index in 0..<16 {
            let digit = digits[index]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self.value = value
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 15
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}
