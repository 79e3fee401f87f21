import CloakroomCrypto

/// A user id that is safe in every place it goes to: object keys, IAM policies, session names, tags.
///
/// Holds 1 to 64 of `A-Z a-z 0-9 _ -`. None of these means anything in JSON, in an IAM policy, in a path or in a query,
/// so the text of a `UserID` may be put there as it is.
package struct UserID: Sendable, Hashable {
    package static let maximumLength = 64

    package let text: String

    /// - Returns: `nil` for a text with any other character, or of another length.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isSafe) else { return nil }
        self.text = text
    }

    private static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension UserID {
    /// The user id of a token's subject: the subject itself where that is safe, else `u_` and a UUID made from both.
    ///
    /// No database is needed: the same issuer and subject always give the same id, and SHA-1 spreads others widely.
    package init(issuer: String, subject: String) {
        if let safe = UserID(subject), !safe.looksMapped {
            self = safe
            return
        }
        self.init(mapping: subject, of: issuer)
    }

    /// `u_` and a UUID made of issuer and subject, whatever the subject looks like: never what another issuer's subject
    /// becomes, nor what a plain one may be.
    package init(mapping subject: String, of issuer: String) {
        let issuers = NameBasedUUID(issuer, in: .urls)
        guard let mapped = UserID("u_\(NameBasedUUID(subject, in: issuers))") else {
            preconditionFailure("hexadecimal digits are safe")
        }
        self = mapped
    }

    /// Whether it has the shape of a mapped one. A subject of this shape is mapped as well, or it could be chosen to meet the
    /// folder of a mapped one.
    package var looksMapped: Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 38, bytes.starts(with: "u_".utf8) else { return false }
        return bytes[16] == UInt8(ascii: "5")
            && bytes.dropFirst(2).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

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
