import CloakroomCrypto
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Makes tokens as an issuer would, for trying out and for our own sessions.
package struct TokenSigner: Sendable {
    package let issuer: String
    package let audience: String
    package let key: TokenSigningKey
    package let claims: ClaimNames
    private let header: String

    package init(issuer: String, audience: String, key: TokenSigningKey, claims: ClaimNames = ClaimNames()) {
        self.issuer = issuer
        self.audience = audience
        self.key = key
        self.claims = claims
        header = Self.header(key)
    }

    /// With HS256.
    package init(issuer: String, audience: String, key: HMACKey, claims: ClaimNames = ClaimNames()) {
        guard let key = try? TokenSigningKey(key) else { preconditionFailure("every HMACKey is long enough for HS256") }
        self.init(issuer: issuer, audience: audience, key: key, claims: claims)
    }

    package func token(
        subject: String, deviceID: String? = nil, tier: String? = nil, now: Date, lifetime: Duration
    ) -> String {
        let issue = Int(now.timeIntervalSince1970)
        var payload = JSONWriter()
        payload.beginObject()
        let texts = [
            ("iss", issuer), ("aud", audience), (claims.subject, subject), (claims.device, deviceID),
            (claims.tier, tier),
        ]
        for case (let name, let text?) in texts {
            payload.name(name)
            payload.string(text)
        }
        for (name, instant) in [("iat", issue), ("exp", issue + Int(lifetime.components.seconds))] {
            payload.name(name)
            payload.integer(instant)
        }
        payload.endObject()
        return sign(payload.bytes)
    }

    /// A token with this payload, whatever it says (RFC 7515 §7.1).
    package func sign(_ payload: [UInt8]) -> String {
        let message = header + "." + Base64URL.encode(payload)
        return message + "." + Base64URL.encode(key.sign(Array(message.utf8)))
    }

    private static func header(_ key: TokenSigningKey) -> String {
        var header = JSONWriter()
        header.beginObject()
        let members = [("alg", key.algorithm.rawValue), ("kid", key.keyID), ("typ", "JWT")] as [(String, String?)]
        for case (let name, let text?) in members {
            header.name(name)
            header.string(text)
        }
        header.endObject()
        return Base64URL.encode(header.bytes)
    }
}
