import CloakroomCrypto
package import CloakroomSignatures
package import CloakroomJSON

/// What our own tokens are signed with: a key, its one algorithm and its name.
package struct TokenSigningKey: Sendable {
    private enum Material: Sendable {
        case secret(HMACKey, HashFunction)
        case keyPair(PublicKey, MessageSigner)
    }

    package let algorithm: SignatureAlgorithm
    /// `kid` of the tokens; `nil` for a secret without a name.
    package let keyID: String?
    private let material: Material

    /// - Throws: ``KeyError/tooSmall`` for a secret that is shorter than the algorithm's hash,
    ///   ``KeyError/unsupportedKind`` for an algorithm that is not HS*.
    package init(
        _ secret: HMACKey, algorithm: SignatureAlgorithm = .hs256, keyID: String? = nil
    ) throws(KeyError) {
        guard case .symmetric(let hash) = algorithm.kind else { throw .unsupportedKind }
        guard secret.isLongEnough(for: hash) else { throw .tooSmall }
        self.algorithm = algorithm
        self.keyID = keyID
        material = .secret(secret, hash)
    }

    /// - Parameters:
    ///   - algorithm: the key's own when `nil`; for RSA that is RS256.
    ///   - keyID: the thumbprint of the public key (RFC 7638) when `nil`.
    /// - Throws: ``KeyError/unsupportedKind`` for an algorithm that does not fit the key.
    package init(
        _ key: PrivateKey, algorithm: SignatureAlgorithm? = nil, keyID: String? = nil
    ) throws(KeyError) {
        let fitting = SignatureAlgorithm.allCases.first { candidate in
            guard algorithm == nil || algorithm == candidate, case .asymmetric(let scheme) = candidate.kind else {
                return false
            }
            return key.publicKey.fits(scheme)
        }
        guard let fitting, case .asymmetric(let scheme) = fitting.kind else { throw .unsupportedKind }
        self.algorithm = fitting
        self.keyID = keyID ?? key.publicKey.thumbprint
        material = .keyPair(key.publicKey, try MessageSigner(key, scheme))
    }

    package func sign(_ message: [UInt8]) -> [UInt8] {
        switch material {
        case .secret(let secret, let hash):
            guard let code = secret.sign(message, with: hash) else { preconditionFailure("the secret is long enough") }
            return code
        case .keyPair(_, let signer): return signer.sign(message)
        }
    }

    /// The public half, for `/.well-known/jwks.json`; `nil` for a secret, which has none.
    package var jwk: JSON? {
        switch material {
        case .secret: nil
        case .keyPair(let key, _): key.jwk(keyID: keyID, algorithm: algorithm)
        }
    }

    /// What verifies its signatures, and no other algorithm's.
    package var verificationKey: VerificationKey {
        let key =
            switch material {
            case .secret(let secret, _): VerificationKey(secret, keyID: keyID, algorithm: algorithm)
            case .keyPair(let key, _): VerificationKey(key, keyID: keyID, algorithm: algorithm)
            }
        guard let key else { preconditionFailure("a key that signs verifies") }
        return key
    }
}
