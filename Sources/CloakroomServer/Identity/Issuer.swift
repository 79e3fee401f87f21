package import CloakroomJOSE
package import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

    package var fetchesKeys: Bool { if case .fixed = keys { false } else { true } }

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

    /// The user that a token of this subject is for.
    package func userID(of subject: String) -> UserID {
        switch subjects {
        case .plain: UserID(issuer: name, subject: subject)
        case .mapped: UserID(mapping: subject, of: name)
        }
    }

    /// For a verifier.
    package func trusted(_ keys: KeySet) -> TrustedIssuer {
        TrustedIssuer(
            issuer: name, audiences: audiences, algorithms: algorithms, keys: keys, claims: claims, leeway: leeway)
    }
}

/// An issuer, and its keys as they are now.
@LoopActor
package final class IdentityProvider {
    let issuer: Issuer
    package let keys: IssuerKeys
    /// Whether it is ourselves: then the subject is the user id.
    let isOurselves: Bool

    init(_ issuer: Issuer, keys: IssuerKeys, isOurselves: Bool = false) {
        self.issuer = issuer
        self.keys = keys
        self.isOurselves = isOurselves
    }

    /// - Returns: `nil` when a token of ours names what is no user id.
    func userID(_ subject: String) -> UserID? {
        isOurselves ? UserID(subject) : issuer.userID(of: subject)
    }

    /// - Parameter now: an issuer whose clock is ahead does not date a token after its arrival.
    func subject(_ token: VerifiedToken, now: Date) throws(TokenError) -> Subject {
        if let tier = token.tier, !Subject.isTier(tier) { throw .badClaims }
        guard let userID = userID(token.subject) else { throw .badSubject }
        return Subject(
            userID: userID, deviceID: token.deviceID, tier: token.tier, issuer: issuer.name, audience: token.audience,
            signIn: try signIn(token.claims).map { min($0, now) },
            isDeviceVouchedFor: issuer.vouchesForDevice && !isOurselves)
    }

    /// Our sessions tell of the sign-in itself (`auth_time`), other issuers of the token alone: `iat`, else `nbf`. Their own
    /// `auth_time` is not used: with single sign-on it may be months old.
    private func signIn(_ claims: Claims) throws(TokenError) -> Date? {
        guard isOurselves else {
            if let issue = try claims.date("iat") { return issue }
            return try claims.date("nbf")
        }
        guard let signIn = try claims.date("auth_time") else { throw .badClaims }
        return signIn
    }
}

/// Why the caller stays unknown. The reason is for the log; the client learns 401, or 503 where waiting may help.
package enum IdentityRefusal: Error, Sendable, Equatable {
    case token(TokenError)
    /// The issuer's keys have not been fetched yet.
    case keysUnavailable
    /// The issuer's tokens are for the exchange, and this is another route, or the other way round.
    case wrongUse
    /// The token or the request lacks the nonce that the other has, or that the settings require.
    case nonceMissing
    case nonceMismatch
    /// A notification came where an identity token should be.
    case unexpectedEvents
    /// No notification, or one that does not say what happened.
    case noEvents
    /// The user id stands for what belongs to others: see ``ReservedUserIDs``.
    case reservedUserID
    /// The sign-in was too long ago for another session.
    case signInTooOld

    package var reason: String {
        switch self {
        case .token(let error): error.rawValue
        case .keysUnavailable: "keys_unavailable"
        case .wrongUse: "wrong_use"
        case .nonceMissing: "nonce_missing"
        case .nonceMismatch: "nonce_mismatch"
        case .unexpectedEvents: "unexpected_events"
        case .noEvents: "no_events"
        case .reservedUserID: "reserved_user_id"
        case .signInTooOld: "sign_in_too_old"
        }
    }
}
