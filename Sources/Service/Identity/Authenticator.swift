package import HTTPValues
package import JOSE
package import Loop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Tells for whom a request is, from its token alone: never from an address or a header that anyone can send.
@LoopActor
package final class Authenticator {
    private let source: TokenSource
    private let verifier: TokenVerifier
    private let leeway: Duration
    private let now: @Sendable () -> Date
    private let verified: VerifiedTokens

    /// - Parameter now: the wall clock; tokens speak of it.
    package init(
        tokens: Settings.Tokens, maximumRemembered: Int = 10_000,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        source = TokenSource(header: tokens.header)
        verifier = TokenVerifier(issuers: tokens.issuers, leeway: tokens.leeway)
        leeway = tokens.leeway
        verified = VerifiedTokens(capacity: maximumRemembered)
        self.now = now
    }

    /// - Parameter acceptsBare: for `/v1/credentials`, see ``TokenSource``.
    /// - Throws: why the token was refused; the client learns 401 and no more.
    package func subject(of request: Request, acceptsBare: Bool = false) throws(TokenError) -> Subject {
        guard let token = source.token(in: request.fields, acceptsBare: acceptsBare) else { throw .missing }
        guard token.count <= JWS.maximumByteCount else { throw .tooLarge }
        let now = now()
        if let known = verified.subject(of: token, now: now) { return known }
        let claims = try verifier.verify(token, now: now)
        if let tier = claims.tier, !Subject.isTier(tier) { throw .badClaims }
        let subject = Subject(
            userID: UserID(issuer: claims.issuer, subject: claims.subject),
            deviceID: claims.deviceID,
            tier: claims.tier,
            issuer: claims.issuer)
        // Kept as long as it would verify: to its end and the leeway beyond.
        verified.insert(subject, for: token, until: claims.expiration.addingTimeInterval(leeway / .seconds(1)))
        return subject
    }
}
