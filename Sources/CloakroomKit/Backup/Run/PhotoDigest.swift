import CloakroomCrypto

/// The MD5 of a photo's bytes, which is its name in S3. Two words instead of an array: there are many.
struct PhotoDigest: Sendable, Hashable {
    private let high, low: UInt64

    /// - Returns: `nil` for other than 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// - Returns: `nil` for other than 32 hexadecimal digits.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }

    var hexadecimal: String { bytes.hexadecimal }
}
