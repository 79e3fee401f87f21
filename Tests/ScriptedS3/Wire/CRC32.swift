/// CRC-32 (ISO 3309), big-endian: what the SDKs send as `x-amz-checksum-crc32`.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { start in
        var value = UInt32(start)
        for _ in 0..<8 {
            let half = value >> 1
            value = value & 1 == 1 ? half ^ 0xEDB8_8320 : half
        }
        return value
    }

    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var sum = UInt32.max
        for byte in bytes { sum = (sum >> 8) ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
        let bits = ~sum
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> UInt32($0)) }
    }
}
