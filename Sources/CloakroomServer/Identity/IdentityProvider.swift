import CloakroomJOSE
package import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
        if isOurselves { return UserID(subject) }
        return switch issuer.subjects {
        case .plain: UserID(issuer: issuer.name, subject: subject)
        case .mapped: UserID(mapping: subject, of: issuer.name)
        }
    }

    /// - Parameter now: an issuer whose clock is ahead does not date a token after its arrival.
    func subject(_ token: VerifiedToken, now: Date) throws(TokenError) -> Subject {
        if let tier = token.tier, !Subject.isTier(tier) { throw .badClaims }
        guard let userID = userID(token.subject) else { throw .badSubject }
        return Subject(
            userID: userID, deviceID: token.deviceID, tier: token.tier, issuer: issuer.name,
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
