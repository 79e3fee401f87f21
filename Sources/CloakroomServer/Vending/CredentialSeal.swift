import CloakroomAWS
import CloakroomCrypto
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Credentials as they are kept outside the process: sealed, in base64url.
struct CredentialSeal: Sendable {
    /// The first seals, all open: a new key is put first, and the old one is removed a lifetime later.
    let keys: [SealingKey]

    /// - Precondition: there is a key.
    func seal(_ vended: VendedSession, for sharedKey: SharedCredentialKey) -> String {
        Base64URL.encode(keys[0].seal(Self.encoded(vended), context: sharedKey.context))
    }

    /// - Parameter jitter: 0…1, how late the credentials are refreshed.
    /// - Returns: `nil` for what was sealed for another place, with another key, or not sealed at all.
    func open(_ text: [UInt8], for sharedKey: SharedCredentialKey, jitter: Double) -> VendedSession? {
        guard let sealed = Base64URL.decode(text) else { return nil }
        let context = sharedKey.context
        for key in keys {
            if let bytes = key.open(sealed, context: context) { return Self.decoded(bytes, jitter: jitter) }
        }
        return nil
    }

    private static func encoded(_ vended: VendedSession) -> [UInt8] {
        let credentials = vended.role.credentials
        var writer = JSONWriter(capacity: 2048)
        writer.beginObject()
        for (name, value) in [
            ("accessKeyID", credentials.accessKeyID), ("secretAccessKey", credentials.secretAccessKey.reveal()),
            ("sessionToken", credentials.sessionToken?.reveal() ?? ""), ("session", vended.sessionName),
            ("scope", vended.scope), ("scopeDigest", vended.scopeDigest),
        ] {
            writer.name(name)
            writer.string(value)
        }
        writer.plainName("issued")
        writer.integer(milliseconds(vended.issued))
        writer.plainName("expiration")
        writer.integer(milliseconds(vended.role.expiration))
        writer.endObject()
        return writer.bytes
    }

    private static func decoded(_ bytes: [UInt8], jitter: Double) -> VendedSession? {
        guard let object = (try? JSON(parsing: bytes))?.object,
            let accessKeyID = object["accessKeyID"]?.string, let secret = object["secretAccessKey"]?.string,
            let token = object["sessionToken"]?.string, let session = object["session"]?.string,
            let scope = object["scope"]?.string, let digest = object["scopeDigest"]?.string,
            let issued = object["issued"]?.integer, let expiration = object["expiration"]?.integer
        else { return nil }
        let role = AssumedRole(
            accessKeyID: accessKeyID, secretAccessKey: Secret(secret), sessionToken: Secret(token),
            expiration: date(expiration))
        return VendedSession(
            role: role, sessionName: session, issued: date(issued), scope: scope, scopeDigest: digest, jitter: jitter)
    }

    private static func milliseconds(_ date: Date) -> Int { Int((date.timeIntervalSince1970 * 1000).rounded(.down)) }
    private static func date(_ milliseconds: Int) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
