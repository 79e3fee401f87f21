package import CloakroomJOSE

/// One trusted issuer: what its tokens must say, and where the keys are that they are signed with.
package struct Issuer: Sendable {
    /// What its tokens are good for.
    package enum Use: String, Sendable, CaseIterable {
        /// They stand in requests.
        case requests
        /// They are exchanged for a session token of ours, and taken nowhere else.
        case session
    }

    /// What its subjects become.
    package enum Subjects: String, Sendable, CaseIterable {
        /// A subject that is a safe user id is that user. One issuer may have this.
        case plain
        /// Every subject becomes a UUID made of issuer and subject, so that it can be no other issuer's.
        case mapped
    }

    package enum Keys: Sendable {
        /// From the settings.
        case fixed(KeySet)
        /// Fetched from there.
        case address(String)
        /// Fetched from where the issuer's discovery document says.
        case discovery
    }

    /// The claim `iss`, byte for byte.
    package var name: String
    package var audiences: [String]
    package var algorithms: Set<SignatureAlgorithm>
    package var keys: Keys
    package var claims: ClaimNames
    package var use: Use
    package var subjects: Subjects
    /// Whether an identity token without a nonce is refused.
    package var requiresNonce: Bool
    /// Whether it proves the device that its tokens name, and does not copy it from a request.
    package var vouchesForDevice: Bool
    /// Whether its tokens have `iat` or `nbf`, as far as the operator says; a revocation goes by the tokens themselves.
    package var datesTokens: Bool
    /// Whether it is Apple, which tells of withdrawn consent and deleted accounts.
    package var notifies: Bool
    /// How far its clock may be from ours; `nil`: as anybody's.
    package var leeway: Duration?

    package init(
        name: String, audiences: [String], algorithms: Set<SignatureAlgorithm>, keys: Keys,
        claims: ClaimNames = ClaimNames(), use: Use = .requests, subjects: Subjects = .plain,
        requiresNonce: Bool = false, vouchesForDevice: Bool = false, datesTokens: Bool = true,
        notifies: Bool = false, leeway: Duration? = nil
    ) {
        self.name = name
        self.audiences = audiences
        self.algorithms = algorithms
        self.keys = keys
        self.claims = claims
        self.use = use
        self.subjects = subjects
        self.requiresNonce = requiresNonce
        self.vouchesForDevice = vouchesForDevice
        self.datesTokens = datesTokens
        self.notifies = notifies
        self.leeway = leeway
    }

    /// For a verifier.
    package func trusted(_ keys: KeySet) -> TrustedIssuer {
        TrustedIssuer(
            issuer: name, audiences: audiences, algorithms: algorithms, keys: keys, claims: claims, leeway: leeway)
    }
}
