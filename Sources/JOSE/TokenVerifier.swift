import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The names under which an issuer's tokens carry what we need.
package struct ClaimNames: Sendable, Equatable {
    package var subject = "sub"
    package var device = "deviceId"
    package var tier = "tier"

    package init() {}

    package init(subject: String, device: String, tier: String) {
        self.subject = subject
        self.device = device
        self.tier = tier
    }
}

/// One issuer we believe, for the audiences and with the algorithms named here.
package struct TrustedIssuer: Sendable {
    package var issuer: String
    package var audiences: [String]
    package var algorithms: Set<SignatureAlgorithm>
    package var key: VerificationKey
    package var claims: ClaimNames

    package init(
        issuer: String, audiences: [String], algorithms: Set<SignatureAlgorithm>, key: VerificationKey,
        claims: ClaimNames = ClaimNames()
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.key = key
        self.claims = claims
    }
}

/// What a token says, once it is believed.
package struct VerifiedToken: Sendable, Equatable {
    package let issuer: String
    package let subject: String
    package let deviceID: String?
    package let tier: String?
    package let expiration: Date
}

/// Verifies tokens by the rules of RFC 8725: the issuer decides key and algorithms, never the token.
package struct TokenVerifier: Sendable {
    private let issuers: [TrustedIssuer]
    private let leeway: Duration

    /// - Parameter leeway: how far the issuer's clock may be from ours, at most 60 seconds.
    package init(issuers: [TrustedIssuer], leeway: Duration) {
        precondition((.zero ... .seconds(60)).contains(leeway), "the leeway is 0…60 seconds")
        self.issuers = issuers
        self.leeway = leeway
    }

    package func verify(_ token: [UInt8], now: Date) throws(TokenError) -> VerifiedToken {
        let jws = try JWS(compact: token)
        // The claim picks the rules only; nothing else of the payload is looked at before its signature holds.
        let claims = try Claims(jws.payload)
        let name = try claims.text("iss", maximumByteCount: 512, otherwise: .unknownIssuer)
        guard let issuer = issuers.first(where: { $0.issuer.hasSameBytes(as: name) }) else { throw .unknownIssuer }
        try jws.verify(with: issuer.key, allowed: issuer.algorithms)
        guard try claims.audiences().contains(where: { name in issuer.audiences.contains(where: name.hasSameBytes) })
        else { throw .wrongAudience }
        let expiration = try claims.checkTimes(now: now, leeway: leeway)
        return VerifiedToken(
            issuer: issuer.issuer,
            subject: try claims.text(issuer.claims.subject, maximumByteCount: 255, otherwise: .badSubject),
            deviceID: try claims.optionalText(issuer.claims.device, maximumByteCount: 255),
            tier: try claims.optionalText(issuer.claims.tier, maximumByteCount: 64),
            expiration: expiration)
    }
}
