import CloakroomCrypto

/// A UUID made from a name (RFC 9562 §5.5): the same name in the same space gives the same UUID.
struct NameBasedUUID: Sendable, Equatable, CustomStringConvertible {
    let bytes: [UInt8]

    /// The name space of URLs (RFC 9562 §6.6).
    static let urls = NameBasedUUID(bytes: [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ])

    init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has 16 bytes")
        self.bytes = bytes
    }

    init(_ name: String, in space: NameBasedUUID) {
        var bytes = Array(SHA1.hash(space.bytes + Array(name.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.init(bytes: bytes)
    }

    var description: String {
        [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { bytes[$0].hexadecimal }.joined(separator: "-")
    }
}
