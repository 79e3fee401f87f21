package import CloakroomJSON

/// The keys of one issuer, and the choice of those that a token is tried with.
package struct KeySet: Sendable {
    /// More keys than an issuer has; a longer set is refused whole.
    package static let maximumCount = 64
    /// A token costs at most so many signatures.
    package static let maximumAttempts = 4

    /// A key that was left out, by its place in the set.
    package struct Refusal: Sendable, Equatable {
        package let place: Int
        package let keyID: String?
        package let fault: JSONWebKeyError
    }

    package let keys: [VerificationKey]
    package let refusals: [Refusal]
    /// Whether a key without a name may serve a token that names one.
    private let takesUnnamed: Bool

    /// Keys that the operator put here by hand, such as PEM files and secrets. What the issuer calls one is not known
    /// unless it has a name here; a token's `kid` says nothing about those without.
    ///
    /// - Precondition: at most ``maximumAttempts`` keys.
    package init(own keys: [VerificationKey]) {
        precondition(keys.count <= Self.maximumAttempts, "each of these keys may be tried")
        self.keys = keys
        refusals = []
        takesUnnamed = true
    }

    /// A set of keys (RFC 7517 §5) or a single one. A key that is no use to us is left out: the others still count.
    ///
    /// - Returns: `nil` for what is neither, for a set of more than ``maximumCount`` keys, for secrets beside public
    ///   keys, and for two secrets of one name: a set that is a misconfiguration.
    package init?(jwks json: JSON, origin: KeyOrigin) {
        guard let fields = json.object else { return nil }
        let candidates: [JSON]
        if let member = fields["keys"] {
            guard let elements = member.array, elements.count <= Self.maximumCount else { return nil }
            candidates = elements
        } else {
            guard fields["kty"] != nil else { return nil }
            candidates = [json]
        }
        var keys: [VerificationKey] = []
        var refusals: [Refusal] = []
        for (place, candidate) in candidates.enumerated() {
            do throws(JSONWebKeyError) {
                keys.append(try VerificationKey(jwk: candidate, origin: origin))
            } catch {
                refusals.append(Refusal(place: place, keyID: candidate.object?["kid"]?.string, fault: error))
            }
        }
        let secretNames = keys.filter { $0.secret != nil }.map(\.keyID)
        guard secretNames.isEmpty || secretNames.count == keys.count,
            Set(secretNames.map { Array(($0 ?? "").utf8) }).count == secretNames.count
        else { return nil }
        self.keys = keys
        self.refusals = refusals
        takesUnnamed = origin == .own
    }

    /// - Parameter allowed: what the issuer may sign with.
    /// - Throws: ``TokenError/unknownKey`` when no key of this set has the token's `kid` and may serve its algorithm:
    ///   newer keys might. ``TokenError/badSignature`` when there is one: no other keys would help.
    package func verify(_ jws: JWS, allowed: Set<SignatureAlgorithm>) throws(TokenError) {
        guard let algorithm = SignatureAlgorithm(rawValue: jws.algorithm), allowed.contains(algorithm) else {
            throw .algorithmRefused
        }
        for key in try candidates(for: jws, algorithm) where jws.isSigned(with: key, algorithm) { return }
        throw .badSignature
    }

    /// At least one, at most ``maximumAttempts``.
    private func candidates(
        for jws: JWS, _ algorithm: SignatureAlgorithm
    ) throws(TokenError) -> ArraySlice<VerificationKey> {
        var fitting = keys.filter { $0.algorithms.contains(algorithm) }
        if let name = jws.keyID {
            fitting.removeAll { key in key.keyID.map { !$0.hasSameBytes(as: name) } ?? !takesUnnamed }
        } else if fitting.count > 1, !takesUnnamed || fitting.contains(where: { $0.keyID != nil }) {
            throw .ambiguousKey
        }
        guard !fitting.isEmpty else { throw .unknownKey }
        return fitting.prefix(Self.maximumAttempts)
    }
}
