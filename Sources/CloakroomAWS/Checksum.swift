/// CRC-32 (ISO/IEC 8802-3, reflected, polynomial 0x04C11DB7), as `x-amz-checksum-crc32` carries it: base64 of four bytes,
/// the highest first.
///
/// What AWS's SDKs send where S3 wants a checksum; unlike MD5, every crypto library's policy allows it.
enum Checksum {
    static let field = "x-amz-checksum-crc32"

    static func text(_ bytes: [UInt8]) -> String {
        let value = crc32(bytes)
        let sum = (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        // 32 bits are five characters of six, and two bits left over.
        var bits: UInt64 = 0
        for byte in sum { bits = bits << 8 | UInt64(byte) }
        bits <<= 4
        let digits = (0..<6).map { alphabet[Int(bits >> UInt64(30 - 6 * $0) & 63)] }
        return String(decoding: digits, as: UTF8.self) + "=="
    }

    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = .max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
