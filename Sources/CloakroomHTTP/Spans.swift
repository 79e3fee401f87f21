// `Array.span` and `String.utf8.span` came with iOS 26 and macOS 26; the spans of slices and of buffers work before.

extension String {
    /// Its bytes as a span, for the time of the call.
    @inlinable package func withUTF8Span<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body($0.span) }
    }

    /// What is not UTF-8 is replaced.
    @inlinable package init(copying bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

extension Span<UInt8> {
    /// Whether one of them is `byte`. Looks at all of them, without an early end: the compiler then takes many at once.
    @inlinable package func holds(_ byte: UInt8) -> Bool {
        var found: UInt8 = 0
        for index in indices { found |= self[index] == byte ? 1 : 0 }
        return found != 0
    }
}

extension OutputSpan<UInt8> {
    /// Appends all of them at once.
    @inlinable package mutating func append(copying bytes: Span<UInt8>) {
        withUnsafeMutableBufferPointer { output, count in
            bytes.withUnsafeBufferPointer { bytes in
                guard let source = bytes.baseAddress, let start = output.baseAddress else { return }
                precondition(bytes.count <= output.count - count, "there is no room")
                (start + count).initialize(from: source, count: bytes.count)
                count += bytes.count
            }
        }
    }

    /// Appends a number: at most 20 characters.
    @inlinable package mutating func append(decimal number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        let number = number.magnitude
        var (digits, limit) = (1, UInt(10))
        while digits < 19, number >= limit { (digits, limit) = (digits + 1, limit &* 10) }
        withUnsafeMutableBufferPointer { output, count in
            precondition(digits <= output.count - count, "there is no room")
            guard let start = output.baseAddress else { return }
            var rest = number
            for index in stride(from: count + digits - 1, through: count, by: -1) {
                let quotient = rest / 10
                (start + index).initialize(to: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10))
                rest = quotient
            }
            count += digits
        }
    }
}
