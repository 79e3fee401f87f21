import CloakroomJSON

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

/// One issuer we trust, for the audiences and with the algorithms named here.
package struct TrustedIssuer: Sendable {
    package var issuer: String
    package var audiences: [String]
    package var algorithms: Set<SignatureAlgorithm>
    package var keys: KeySet
    package var claims: ClaimNames
    /// How far its clock may be from ours, at most 60 seconds; `nil`: as the verifier's.
    package var leeway: Duration?

    package init(
        issuer: String, audiences: [String], algorithms: Set<SignatureAlgorithm>, keys: KeySet,
        claims: ClaimNames = ClaimNames(), leeway: Duration? = nil
    ) {
        precondition((.zero ... .seconds(60)).contains(leeway ?? .zero), "the leeway is 0…60 seconds")
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.keys = keys
        self.claims = claims
        self.leeway = leeway
    }

    package init(
        issuer: String, audiences: [String], algorithms: Set<SignatureAlgorithm>, key: VerificationKey,
        claims: ClaimNames = ClaimNames()
    ) {
        self.init(
            issuer: issuer, audiences: audiences, algorithms: algorithms, keys: KeySet(own: [key]), claims: claims)
    }
}

/// A token that was parsed and not yet verified: it names an issuer we know, and nothing else of it was looked at.
package struct UnverifiedToken: Sendable {
    /// As the settings have it.
    package let issuer: String
    package let keyID: String?
    fileprivate let jws: JWS
    fileprivate let claims: Claims
}

/// What a verified token says.
package struct VerifiedToken: Sendable, Equatable {
    package let issuer: String
    package let subject: String
    package let deviceID: String?
    package let tier: String?
    package let expiration: Date
    /// The first of its audiences that its issuer may have.
    package let audience: String
    /// All that it says.
    package let claims: Claims
}

/// Verifies tokens by the rules of RFC 8725: the issuer decides keys and algorithms, never the token.
package struct TokenVerifier: Sendable {
    private var issuers: [TrustedIssuer]
    private let leeway: Duration

    /// - Parameter leeway: how far an issuer's clock may be from ours, at most 60 seconds, where it has no own.
    package init(issuers: [TrustedIssuer], leeway: Duration) {
        precondition((.zero ... .seconds(60)).contains(leeway), "the leeway is 0…60 seconds")
        self.issuers = issuers
        self.leeway = leeway
    }

    /// Takes other keys for an issuer from now on; one that is not known stays so.
    package mutating func setKeys(_ keys: KeySet, ofIssuer name: String) {
        for index in issuers.indices where issuers[index].issuer.hasSameBytes(as: name) { issuers[index].keys = keys }
    }

    package func verify(_ token: [UInt8], now: Date) throws(TokenError) -> VerifiedToken {
        try verify(try read(token), now: now)
    }

    /// Reads a token as far as that needs no key.
    package func read(
        _ token: [UInt8], maximumByteCount: Int = JWS.maximumByteCount
    ) throws(TokenError) -> UnverifiedToken {
        let jws = try JWS(compact: token, maximumByteCount: maximumByteCount)
        // The claim picks the rules only; nothing else of the payload counts before its signature holds.
        let claims = try Claims(jws.payload)
        let name = try claims.text("iss", maximumByteCount: 512, otherwise: .unknownIssuer)
        return UnverifiedToken(issuer: issuers[try index(of: name)].issuer, keyID: jws.keyID, jws: jws, claims: claims)
    }

    /// - Throws: ``TokenError/unknownKey`` when newer keys of its issuer might help; not for a token that they would not
    ///   help, such as an expired one: no keys need be fetched then.
    package func verify(_ token: UnverifiedToken, now: Date) throws(TokenError) -> VerifiedToken {
        let index = try index(of: token.issuer)
        let leeway = issuers[index].leeway ?? leeway
        let audience: String
        do throws(TokenError) { audience = try verifySignature(token, index) } catch {
            guard error == .unknownKey else { throw error }
            _ = try self.audience(of: token, index)
            _ = try token.claims.checkTimes(now: now, leeway: leeway)
            throw error
        }
        let claims = token.claims
        let expiration = try claims.checkTimes(now: now, leeway: leeway)
        let names = issuers[index].claims
        return VerifiedToken(
            issuer: token.issuer,
            subject: try claims.text(names.subject, maximumByteCount: 255, otherwise: .badSubject),
            deviceID: try claims.optionalText(names.device, maximumByteCount: 255),
            tier: try claims.optionalText(names.tier, maximumByteCount: 64),
            expiration: expiration,
            audience: audience,
            claims: claims)
    }

    /// Signature and audience alone, for what is signed like a token and is none, such as a notification: the
    /// caller checks times and subject.
    package func verifySignature(_ token: UnverifiedToken) throws(TokenError) -> Claims {
        _ = try verifySignature(token, try index(of: token.issuer))
        return token.claims
    }

    /// - Returns: the audience that its issuer may have.
    private func verifySignature(_ token: UnverifiedToken, _ index: Int) throws(TokenError) -> String {
        try issuers[index].keys.verify(token.jws, allowed: issuers[index].algorithms)
        return try audience(of: token, index)
    }

    private func audience(of token: UnverifiedToken, _ index: Int) throws(TokenError) -> String {
        for name in try token.claims.audiences() {
            for audience in issuers[index].audiences where audience.hasSameBytes(as: name) { return audience }
        }
        throw .wrongAudience
    }

    /// Where in ``issuers`` it stands: to hand out an issuer itself would copy all that it consists of.
    private func index(of name: String) throws(TokenError) -> Int {
        for index in issuers.indices where issuers[index].issuer.hasSameBytes(as: name) { return index }
        throw .unknownIssuer
    }
}
