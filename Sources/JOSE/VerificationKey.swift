import CloakroomCrypto

/// The algorithms we verify (RFC 7518 §3.1).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
}

/// A key and, by its kind, the only algorithm it is ever used with.
package enum VerificationKey: Sendable {
    case hmac(HMACKey)

    package var algorithm: SignatureAlgorithm {
        switch self {
        case .hmac: .hs256
        }
    }

    package func verifies(_ signature: [UInt8], of message: some Collection<UInt8>) -> Bool {
        switch self {
        case .hmac(let key): constantTimeEqual(key.sign(message), signature)
        }
    }
}

/// A key for HS256; prints as `<secret>` and never gives its bytes back.
package struct HMACKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// RFC 7518 §3.2: at least as long as the hash.
    package static let minimumByteCount = SHA256.byteCount

    private let function: HMACSHA256

    /// - Returns: `nil` for a key shorter than ``minimumByteCount``.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.minimumByteCount else { return nil }
        function = HMACSHA256(key: bytes)
    }

    package func sign(_ message: some Collection<UInt8>) -> [UInt8] { function.authenticate(message) }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
