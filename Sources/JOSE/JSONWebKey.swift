import CloakroomCrypto
package import StrictJSON

/// One key of a key set (RFC 7517 §4), if it is one we verify with.
package struct JSONWebKey: Sendable {
    package let keyID: String?
    package let key: VerificationKey

    /// - Returns: `nil` for a key of a kind we do not have, or that its owner made for something else: another `use`,
    ///   other `key_ops`, another `alg`.
    package init?(_ json: JSON) {
        guard let fields = json.object, fields["kty"]?.string == "oct",
            fields["use"].map({ $0.string == "sig" }) ?? true,
            fields["key_ops"].map({ $0.strings?.contains("verify") == true }) ?? true,
            let bytes = fields["k"]?.string.flatMap({ Base64URL.decode($0.utf8) }), let key = HMACKey(bytes)
        else { return nil }
        let verification = VerificationKey.hmac(key)
        guard fields["alg"].map({ $0.string == verification.algorithm.rawValue }) ?? true else { return nil }
        self.keyID = fields["kid"]?.string
        self.key = verification
    }
}

/// A set of keys (RFC 7517 §5); what is no key of ours in it is left out.
package struct JSONWebKeySet: Sendable {
    package let keys: [JSONWebKey]

    package init?(_ json: JSON) {
        guard let keys = json.object?["keys"]?.array else { return nil }
        self.keys = keys.compactMap(JSONWebKey.init)
    }

    /// The keys a token may have been signed with: those of its `kid`, or all when it names none.
    package func verify(_ jws: JWS, allowed: Set<SignatureAlgorithm>) throws(TokenError) {
        guard let algorithm = SignatureAlgorithm(rawValue: jws.algorithm), allowed.contains(algorithm) else {
            throw .algorithmRefused
        }
        let candidates = keys.filter { jws.keyID == nil || $0.keyID == jws.keyID }
        guard !candidates.isEmpty else { throw .unknownKey }
        for candidate in candidates {
            do throws(TokenError) {
                try jws.verify(with: candidate.key, allowed: allowed)
                return
            } catch {
                continue
            }
        }
        throw .badSignature
    }
}
