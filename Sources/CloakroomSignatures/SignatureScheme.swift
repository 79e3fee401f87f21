package import CloakroomCrypto

/// How a message is signed with an asymmetric key.
package enum SignatureScheme: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 §8.2).
    case pkcs1(HashFunction)
    /// RSASSA-PSS, MGF1 with the same hash, a salt as long as the hash (RFC 8017 §8.1, RFC 7518 §3.5).
    case pss(HashFunction)
    /// ECDSA, the signature as r and s, each as long as the curve's coordinates (RFC 7518 §3.4).
    case ecdsa(HashFunction)
    /// RFC 8032, pure.
    case ed25519
}

/// The curves of RFC 7518 §6.2.1.1.
package enum EllipticCurve: String, Sendable, Hashable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    package var coordinateByteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// As libcrypto names the group.
    var groupName: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }
}
