// Inlinable, because a generic property that no other module can specialise is ten times as slow.
extension Collection<UInt8> {
    /// Lower-case hexadecimal, two digits a byte.
    @inlinable package var hexadecimal: String {
        var digits: [UInt8] = []
        digits.append(hexadecimal: self)
        return String(decoding: digits, as: UTF8.self)
    }
}

extension [UInt8] {
    /// - Parameter digits: hexadecimal in either case, two digits a byte.
    /// - Returns: `nil` for an odd number of them, and for any other character.
    @inlinable package init?(hexadecimal digits: some Collection<UInt8>) {
        self = []
        reserveCapacity(digits.count / 2)
        var first: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let high = first { append(high << 4 | value) }
            first = first == nil ? value : nil
        }
        guard first == nil else { return nil }
    }

    /// Appends lower-case hexadecimal, two digits a byte.
    @inlinable package mutating func append(hexadecimal bytes: some Collection<UInt8>) {
        let text: StaticString = "0123456789abcdef"
        let digits = unsafe text.utf8Start
        append(addingCapacity: 2 * bytes.count) { output in
            for byte in bytes {
                unsafe output.append(digits[Int(byte >> 4)])
                unsafe output.append(digits[Int(byte & 15)])
            }
        }
    }
}
