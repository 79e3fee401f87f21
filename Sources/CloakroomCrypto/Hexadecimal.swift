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
        let digits: InlineArray<16, UInt8> = [
            0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66,
        ]
        append(addingCapacity: 2 * bytes.count) { output in
            for byte in bytes {
                output.append(digits[Int(byte >> 4)])
                output.append(digits[Int(byte & 15)])
            }
        }
    }
}
