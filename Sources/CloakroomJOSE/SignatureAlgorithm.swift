package import CloakroomCrypto
package import CloakroomSignatures

/// The algorithms we verify (RFC 7518 §3.1, RFC 8037 §3.1). `none` is not one of them.
package enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519 alone; Ed448 is refused.
    case edDSA = "EdDSA"

    /// What it requires of a key: a secret and a hash, or a key pair and a scheme.
    package enum Kind: Sendable, Hashable {
        case symmetric(HashFunction)
        case asymmetric(SignatureScheme)
    }

    package var kind: Kind {
        switch self {
        case .hs256: .symmetric(.sha256)
        case .hs384: .symmetric(.sha384)
        case .hs512: .symmetric(.sha512)
        case .rs256: .asymmetric(.pkcs1(.sha256))
        case .rs384: .asymmetric(.pkcs1(.sha384))
        case .rs512: .asymmetric(.pkcs1(.sha512))
        case .ps256: .asymmetric(.pss(.sha256))
        case .ps384: .asymmetric(.pss(.sha384))
        case .ps512: .asymmetric(.pss(.sha512))
        case .es256: .asymmetric(.ecdsa(.sha256))
        case .es384: .asymmetric(.ecdsa(.sha384))
        case .es512: .asymmetric(.ecdsa(.sha512))
        case .edDSA: .asymmetric(.ed25519)
        }
    }

    /// Whether a verifier could sign as well.
    package var isSymmetric: Bool {
        switch kind {
        case .symmetric: true
        case .asymmetric: false
        }
    }
}
