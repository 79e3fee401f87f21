package import CloakroomAWS

/// What is requested of STS for one subject: never more than its tier allows, less if the request wants less.
package struct Grant: Sendable, Hashable {
    package let scope: Scope
    package let lifetime: Duration
    /// The tier the session is tagged with.
    package let tier: String

    package init(scope: Scope, lifetime: Duration, tier: String) {
        self.scope = scope
        self.lifetime = lifetime
        self.tier = tier
    }

    /// The session's tags, which the role's policy and CloudTrail see.
    package func tags(for user: UserID) -> [AssumeRole.Tag] { Self.tags(for: user, tier: tier) }

    static func tags(for user: UserID, tier: String) -> [AssumeRole.Tag] {
        [.init(key: "UserId", value: user.text), .init(key: "SubscriptionTier", value: tier)]
    }

    /// Of the session that this leads to.
    package func packedSize(for user: UserID) -> PackedSize {
        PackedSize(policy: scope.policy.text(for: user), tags: tags(for: user))
    }
}
