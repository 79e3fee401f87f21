import CloakroomCrypto

/// What credentials allow, under the name by which it is requested.
///
/// Made once, when settings are read; two scopes are equal when they are the same one.
package final class Scope: Sendable {
    package let name: String
    package let policy: SessionPolicy
    /// Of the template with everything but the user in place, 16 hexadecimal digits: another after every change.
    package let digest: String
    /// Whether it lets a user store anything.
    package let writes: Bool

    init(name: String, policy: SessionPolicy) {
        self.name = name
        self.policy = policy
        digest = SHA256.hash(Array(policy.open.utf8)).prefix(8).hexadecimal
        writes = policy.language.statements.contains { statement in
            statement.actions.patterns.contains { $0.matches("s3:putobject") }
        }
    }

    /// For keys that outlive the process, such as those of a shared cache: `full@0123456789abcdef`.
    package var identity: String { "\(name)@\(digest)" }
}

extension Scope: Hashable {
    package static func == (left: Scope, right: Scope) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
