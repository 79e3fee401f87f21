import CloakroomCrypto
import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Makes tokens as an issuer would, for trying out and for our own sessions (HS256).
package struct TokenSigner: Sendable {
    package let issuer: String
    package let audience: String
    package let key: HMACKey
    package let claims: ClaimNames

    package init(issuer: String, audience: String, key: HMACKey, claims: ClaimNames = ClaimNames()) {
        self.issuer = issuer
        self.audience = audience
        self.key = key
        self.claims = claims
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
        let header = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8)
        let message = header + "." + Base64URL.encode(payload.bytes)
        return message + "." + Base64URL.encode(key.sign(message.utf8))
    }
}
