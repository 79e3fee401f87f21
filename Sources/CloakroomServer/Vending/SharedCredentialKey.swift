import CloakroomCrypto
import CloakroomLoop

/// Where a user's credentials are kept for all workers, and what they are tied to.
struct SharedCredentialKey: Sendable, Hashable {
    let user: UserID
    /// All else that tells credentials apart: role, scope, tier, lifetime.
    let name: String

    init(user: UserID, name: String) {
        self.user = user
        self.name = name
    }

    init(user: UserID, role: String, grant: Grant) {
        self.init(
            user: user,
            name: "\(role)\n\(grant.scope.identity)\n\(grant.tier)\n\(grant.lifetime.milliseconds)")
    }

    /// In braces what decides a cluster's slot, so that entry and lock are on one server.
    func key(prefix: String) -> String {
        "\(prefix)cred:{\(user.text)}:\(Base64URL.encode(SHA256.hash(Array(name.utf8)).prefix(18)))"
    }

    /// An entry opens only where it was sealed: it cannot be moved to another user, nor to a wider scope.
    var context: [UInt8] { Array("cloakroom credentials 1\n\(user.text)\n\(name)".utf8) }
}
