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
