import Foundation

/// A black PNG of one bit a pixel that is much smaller than what it unfolds to, without a program that makes it.
enum HugePNG {
    /// - Parameter size: of both edges, in pixels.
    static func bytes(size: Int) -> Data {
        let line = 1 + (size + 7) / 8
        var header = bigEndian(size) + bigEndian(size)
        header += [1, 0, 0, 0, 0]
        return Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
            + chunk("IHDR", header) + chunk("IDAT", zeros(line * size)) + chunk("IEND", [])
    }

    /// zlib's format (RFC 1950): one block of fixed codes, "a zero" and then "the 258 bytes before, once more"; what is
    /// left over follows in a stored block.
    private static func zeros(_ count: Int) -> [UInt8] {
        let repeats = (count - 1) / 258
        let rest = count - 1 - repeats * 258
        var bits = Bits()
        // Not the last block; fixed codes (RFC 1951 §3.2.6). Codes begin with their highest bit.
        bits.append([0, 1, 0])
        bits.append([0, 0, 1, 1, 0, 0, 0, 0])
        for _ in 0..<repeats { bits.append([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]) }
        bits.append([0, 0, 0, 0, 0, 0, 0])
        bits.append([1, 0, 0])
        bits.fill()
        let length = [UInt8(rest & 0xff), UInt8(rest >> 8)]
        // Adler-32 of zeros: the first sum stays 1, the second counts.
        return [0x78, 0x01] + bits.bytes + length + length.map { ~$0 } + [UInt8](repeating: 0, count: rest)
            + bigEndian((count % 65521) << 16 | 1)
    }

    private struct Bits {
        var bytes: [UInt8] = []
        private var current: UInt8 = 0
        private var count = 0

        mutating func append(_ bits: [UInt8]) {
            for bit in bits {
                current |= bit << UInt8(count)
                count += 1
                if count == 8 { flush() }
            }
        }

        mutating func fill() { if count > 0 { flush() } }

        private mutating func flush() {
            bytes.append(current)
            current = 0
            count = 0
        }
    }

    private static func chunk(_ kind: String, _ content: [UInt8]) -> Data {
        let body = Array(kind.utf8) + content
        return Data(bigEndian(content.count) + body + bigEndian(Int(crc(body))))
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { (shift: Int) -> UInt8 in UInt8((number >> shift) & 0xff) }
    }

    private static let table: [UInt32] = (0..<256).map { (byte: Int) -> UInt32 in
        var sum = UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xedb8_8320 : sum >> 1 }
        return sum
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        let table = table
        var sum = UInt32.max
        for byte in bytes { sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8) }
        return ~sum
    }
}
