import CloakroomHTTP

extension UnsafeBufferPointer<UInt8> {
    /// Whether all of it is ASCII that JSON does not escape; neither is DEL plain, at which terminals do things.
    ///
    /// Eight bytes at a time: in a word of ASCII, `word - n` sets the highest bit of a byte below `n`, and a byte that
    /// equals another is zero after XOR, so below one. A borrow can only come from a byte that counts itself.
    var isPlain: Bool {
        let bytes = UnsafeRawBufferPointer(self)
        guard count >= 8 else {
            var word: UInt64 = 0x3030_3030_3030_3030
            for byte in bytes { word = word << 8 | UInt64(byte) }
            return Self.unusual(word) & Self.highestBits == 0
        }
        // The last word may look at some bytes once more.
        var found = Self.unusual(bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
        for offset in stride(from: 0, to: count - 8, by: 8) {
            found |= Self.unusual(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        return found & Self.highestBits == 0
    }

    private static var highestBits: UInt64 { 0x8080_8080_8080_8080 }

    /// - Returns: a word with the highest bit of every byte that is not plain, and perhaps of others behind such a one.
    private static func unusual(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        return word | (word &- ones &* 0x20) | ((word ^ (ones &* 0x22)) &- ones) | ((word ^ (ones &* 0x5C)) &- ones)
            | (word &+ ones)
    }
}

extension OutputSpan<UInt8> {
    @inline(__always) mutating func append(_ text: UnsafeBufferPointer<UInt8>) { append(copying: text.span) }

    /// A member's name with what stands around it.
    @inline(__always) mutating func append(name: UnsafeBufferPointer<UInt8>, isFirst: Bool) {
        if !isFirst { append(UInt8(ascii: ",")) }
        append(UInt8(ascii: "\""))
        append(name)
        append(UInt8(ascii: "\""))
        append(UInt8(ascii: ":"))
    }

    /// 16 lower-case hexadecimal digits.
    package mutating func append(hexadecimal number: UInt64) {
        append(Self.digits(number >> 32))
        append(Self.digits(number & 0xFFFF_FFFF))
    }

    /// Lower-case hexadecimal, two digits a byte.
    ///
    /// - Parameter bytes: a multiple of eight of them, as digests have.
    package mutating func append(hexadecimal bytes: [UInt8]) {
        precondition(bytes.count % 8 == 0)
        bytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                append(hexadecimal: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            }
        }
    }

    /// Eight digits at a time: each half of a byte becomes a byte, and what is above 9 a letter.
    ///
    /// - Parameter number: of 32 bits.
    /// - Returns: the digits, the first in the highest byte.
    private static func digits(_ number: UInt64) -> UInt64 {
        var halves = (number | number << 16) & 0x0000_FFFF_0000_FFFF
        halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
        halves = (halves | halves << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (halves + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return halves + 0x3030_3030_3030_3030 + letters * 39
    }

    /// Eight characters, the first in the highest byte.
    private mutating func append(_ word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { append($0.bindMemory(to: UInt8.self)) }
    }
}
