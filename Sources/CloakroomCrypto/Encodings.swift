/// base64url without padding (RFC 7515 §2).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let invalid: UInt8 = 0xFF

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        // Other modules get this generic function unspecialised: a call for each byte. Hence the inner one.
        let whole = bytes.withContiguousStorageIfAvailable { unsafe encoded($0) }
        return unsafe whole ?? Array(bytes).withUnsafeBufferPointer { unsafe encoded($0) }
    }

    private static func encoded(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        let count = (bytes.count * 4 + 2) / 3
        return unsafe alphabet.withUnsafeBufferPointer { alphabet in
            unsafe String(unsafeUninitializedCapacity: count) { text in
                var bits: UInt32 = 0
                var bitCount = 0
                var length = 0
                for index in 0..<bytes.count {
                    bits = unsafe bits << 8 | UInt32(bytes[index])
                    bitCount += 8
                    while bitCount >= 6 {
                        bitCount -= 6
                        unsafe text[length] = alphabet[Int(bits >> UInt32(bitCount) & 63)]
                        length += 1
                    }
                }
                if bitCount > 0 { unsafe text[length] = alphabet[Int(bits << UInt32(6 - bitCount) & 63)] }
                return count
            }
        }
    }

    /// - Returns: `nil` for padding, invalid characters, a length no encoding has, or bits left over that are not zero.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        // As for `encode`.
        let whole = text.withContiguousStorageIfAvailable { unsafe decoded($0) }
        return unsafe whole ?? Array(text).withUnsafeBufferPointer { unsafe decoded($0) }
    }

    /// Four characters at a time, and whether one of them was invalid once at the end.
    private static func decoded(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let rest = text.count % 4
        guard rest != 1 else { return nil }
        var isSound = true
        let bytes = unsafe values.withUnsafeBufferPointer { values in
            unsafe [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { bytes, count in
                var all: UInt8 = 0
                func value(_ index: Int) -> UInt32 {
                    let value = unsafe values[Int(text[index])]
                    all |= value
                    return UInt32(value)
                }
                var index = 0
                while index < text.count - rest {
                    let word = value(index) << 18 | value(index + 1) << 12 | value(index + 2) << 6 | value(index + 3)
                    unsafe bytes[count] = UInt8(truncatingIfNeeded: word >> 16)
                    unsafe bytes[count + 1] = UInt8(truncatingIfNeeded: word >> 8)
                    unsafe bytes[count + 2] = UInt8(truncatingIfNeeded: word)
                    index += 4
                    count += 3
                }
                if rest > 0 {
                    let word = value(index) << 12 | value(index + 1) << 6 | (rest == 3 ? value(index + 2) : 0)
                    unsafe bytes[count] = UInt8(truncatingIfNeeded: word >> 10)
                    if rest == 3 { unsafe bytes[count + 1] = UInt8(truncatingIfNeeded: word >> 2) }
                    count += rest - 1
                    isSound = word & (rest == 3 ? 3 : 0x3FF) == 0
                }
                // Values have six bits; only the invalid one has more.
                isSound = isSound && all < 64
            }
        }
        return isSound ? bytes : nil
    }
}
