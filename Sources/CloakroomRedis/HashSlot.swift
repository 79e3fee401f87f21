/// Which of a cluster's slots a key lies in.
///
/// Source: redis.io, "Redis cluster specification": CRC-16 (XMODEM) of the key, or of what its first braces hold.
struct HashSlot: Hashable, Sendable {
    static let count = 16_384

    let number: Int

    init(number: Int) { self.number = number }

    init(of key: some Collection<UInt8>) {
        var crc: UInt16 = 0
        for byte in Self.hashed(key) { crc = crc << 8 ^ Self.table[Int(UInt8(crc >> 8) ^ byte)] }
        number = Int(crc) % Self.count
    }

    private static func hashed<Key: Collection<UInt8>>(_ key: Key) -> Key.SubSequence {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key[...] }
        let rest = key[key.index(after: open)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex else { return key[...] }
        return rest[..<close]
    }

    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
}
