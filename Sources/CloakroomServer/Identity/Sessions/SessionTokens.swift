import CloakroomCrypto
import CloakroomJOSE
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Our own tokens: a client that has signed in gets one, and the other routes accept it.
///
/// Their subject is the user id itself. They tell when the person signed in (`auth_time`), so that a session can be
/// continued only so long.
package struct SessionTokens: Sendable {
    /// Ourselves, as an issuer among others.
    let issuer: Issuer
    /// The public keys as a JWK set (RFC 7517 §5): what others verify our tokens with. Secrets are not among them.
    let keySet: [UInt8]
    private let settings: Settings.Session
    private let signer: TokenSigner
    private let now: @Sendable () -> Date

    /// - Parameter now: the wall clock.
    package init(_ settings: Settings.Session, now: @escaping @Sendable () -> Date = { Date() }) {
        precondition(!settings.keys.isEmpty, "a signing key is required")
        self.settings = settings
        self.now = now
        signer = TokenSigner(issuer: settings.issuer, audience: settings.audience, key: settings.keys[0])
        issuer = Issuer(
            name: settings.issuer, audiences: [settings.audience],
            algorithms: Set(settings.keys.map(\.algorithm)),
            keys: .fixed(KeySet(own: settings.keys.map(\.verificationKey))))
        var writer = JSONWriter()
        writer.value(["keys": .array(settings.keys.compactMap(\.jwk))])
        keySet = writer.bytes
    }

    struct Issued {
        let token: String
        /// `jti`, by which an audit line names it.
        let id: String
        let expiration: Date
    }

    /// - Parameter subject: whose sign-in counts as of now where it is not dated.
    /// - Returns: `nil` when the sign-in was too long ago.
    func issue(_ subject: Subject, deviceID: String?) -> Issued? {
        let now = now()
        let signIn = min(now, subject.signIn ?? now)
        let last = signIn.addingTimeInterval(settings.maximumAge / .seconds(1))
        guard now < last else { return nil }
        let expiration = min(now.addingTimeInterval(settings.lifetime / .seconds(1)), last)
        let id = Base64URL.encode(randomBytes(16))
        var payload = JSONWriter()
        payload.beginObject()
        let texts = [
            ("iss", settings.issuer), ("aud", settings.audience), ("sub", subject.userID.text), ("jti", id),
            ("deviceId", deviceID), ("tier", subject.tier),
        ]
        for case (let name, let text?) in texts {
            payload.name(name)
            payload.string(text)
        }
        for (name, instant) in [("iat", now), ("auth_time", signIn), ("exp", expiration)] {
            payload.name(name)
            payload.integer(Int(instant.timeIntervalSince1970))
        }
        payload.endObject()
        return Issued(token: signer.sign(payload.bytes), id: id, expiration: expiration)
    }
}
