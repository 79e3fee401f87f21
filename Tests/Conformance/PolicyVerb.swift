import Foundation
import CloakroomJOSE
import CloakroomServer

/// The session policy of a user with any name, through a token as users come.
let policy: Verb = { request in
    let user = try request.string("user_id")
    let policySettings = try PolicySettings()
    guard let id = policySettings.userID(ofSubject: user) else { return ["refused": .bool(true)] }
    return [
        "policy": .string(policySettings.settings.vending.scope.policy.text(for: id)),
        "bucket": .string(policySettings.settings.bucket),
        "own_key": .string("photos/\(id.text)/picture.jpg"),
    ]
}

/// Settings with the built-in policy, and an issuer to speak for.
private struct PolicySettings {
    private static let secret = "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"
    private static let text = """
        {
          region: "us-east-1", bucket: "conformance",
          tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SECRET"}}]},
          vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
        }
        """

    let settings: Settings

    init() throws {
        settings = try Settings.load(file: "settings.json5", environment: ["SECRET": Self.secret]) { name in
            name == "settings.json5" ? Array(Self.text.utf8) : nil
        }
    }

    /// - Returns: `nil` when a token with this subject is refused.
    func userID(ofSubject subject: String) -> UserID? {
        guard let key = HMACKey(Array(Self.secret.utf8)) else { return nil }
        let now = Date()
        let token = TokenSigner(issuer: "https://auth.example", audience: "cloakroom", key: key)
            .token(subject: subject, now: now, lifetime: .seconds(60))
        let issuers = settings.tokens.issuers.compactMap { issuer in
            if case .fixed(let keys) = issuer.keys { issuer.trusted(keys) } else { nil }
        }
        let verifier = TokenVerifier(issuers: issuers, leeway: settings.tokens.leeway)
        guard let verified = try? verifier.verify(Array(token.utf8), now: now) else { return nil }
        return UserID(issuer: verified.issuer, subject: verified.subject)
    }
}
