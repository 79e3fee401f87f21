import CloakroomCrypto
package import CloakroomSignatures

/// One key, with the algorithms it may serve: all of one family, never a secret and a key pair.
package struct VerificationKey: Sendable {
    private enum Material: Sendable {
        case secret(HMACKey)
        case publicKey(PublicKey, [(algorithm: SignatureAlgorithm, verifier: MessageVerifier)])
    }

    /// `kid`; `nil` for a key without a name.
    package let keyID: String?
    /// Never empty.
    package let algorithms: Set<SignatureAlgorithm>
    private let material: Material

    /// - Parameter algorithm: the only one it shall serve; without, each HS* that the secret is long enough for.
    /// - Returns: `nil` when it cannot serve that algorithm.
    package init?(_ secret: HMACKey, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil) {
        let algorithms = SignatureAlgorithm.allCases.filter { candidate in
            guard algorithm == nil || algorithm == candidate else { return false }
            switch candidate.kind {
            case .symmetric(let hash): return secret.isLongEnough(for: hash)
            case .asymmetric: return false
            }
        }
        guard !algorithms.isEmpty else { return nil }
        self.keyID = keyID
        self.algorithms = Set(algorithms)
        material = .secret(secret)
    }

    /// - Parameter algorithm: the only one it shall serve; without, each that fits the key: for RSA RS* and PS*, of
    ///   which the issuer's settings take their choice, for all others just one.
    /// - Returns: `nil` when it cannot serve that algorithm.
    package init?(_ key: PublicKey, keyID: String? = nil, algorithm: SignatureAlgorithm? = nil) {
        let verifiers = SignatureAlgorithm.allCases.compactMap { candidate in
            guard algorithm == nil || algorithm == candidate, case .asymmetric(let scheme) = candidate.kind,
                let verifier = MessageVerifier(key, scheme)
            else { return nil as (algorithm: SignatureAlgorithm, verifier: MessageVerifier)? }
            return (candidate, verifier)
        }
        guard !verifiers.isEmpty else { return nil }
        self.keyID = keyID
        algorithms = Set(verifiers.map(\.algorithm))
        material = .publicKey(key, verifiers)
    }

    /// A secret for every HS* that it is long enough for.
    package static func hmac(_ secret: HMACKey) -> VerificationKey {
        guard let key = VerificationKey(secret) else { preconditionFailure("every HMACKey is long enough for HS256") }
        return key
    }

    /// - Parameter text: one block `PUBLIC KEY`.
    package init(pem text: [UInt8], keyID: String? = nil) throws(KeyError) {
        guard let key = VerificationKey(try PublicKey(pem: text), keyID: keyID) else { throw .unsupportedKind }
        self = key
    }

    /// The secret, if it is one: with it, tokens can be made.
    package var secret: HMACKey? {
        switch material {
        case .secret(let key): key
        case .publicKey: nil
        }
    }

    /// `nil` for a secret.
    package var publicKey: PublicKey? {
        switch material {
        case .secret: nil
        case .publicKey(let key, _): key
        }
    }

    /// - Returns: `false` as well for an algorithm that the key does not serve.
    package func verifies(
        _ signature: [UInt8], of message: some Collection<UInt8>, algorithm: SignatureAlgorithm
    ) -> Bool {
        guard algorithms.contains(algorithm) else { return false }
        switch material {
        case .secret(let key):
            guard case .symmetric(let hash) = algorithm.kind, let code = key.sign(message, with: hash) else {
                return false
            }
            return constantTimeEqual(code, signature)
        case .publicKey(_, let verifiers):
            guard let verifier = verifiers.first(where: { $0.algorithm == algorithm })?.verifier else { return false }
            return verifier.verifies(signature, of: Array(message))
        }
    }
}
