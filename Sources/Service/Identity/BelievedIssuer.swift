import JOSE
package import Loop

/// An issuer, and its keys as they are now.
@LoopActor
package final class BelievedIssuer {
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

    func subject(_ token: VerifiedToken) throws(TokenError) -> Subject {
        if let tier = token.tier, !Subject.isTier(tier) { throw .badClaims }
        guard let userID = userID(token.subject) else { throw .badSubject }
        return Subject(
            userID: userID, deviceID: token.deviceID, tier: token.tier, issuer: issuer.name,
            isDeviceVouchedFor: issuer.vouchesForDevice && !isOurselves)
    }
}
