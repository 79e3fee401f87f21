/// What everybody of one tier may do; made once from the settings and shared by all who have it.
package final class Tier: Sendable {
    /// How long credentials live.
    package let lifetime: Duration
    /// What they open.
    package let scope: Scope
    /// In bytes; `nil` for no limit.
    package let storageLimit: Int?
    /// Whether nothing is given without a subscription that has not ended.
    package let requiresSubscription: Bool
    private let renew: RateLimitPolicy
    private let vend: RateLimitPolicy
    private let vendAll: RateLimitPolicy
    private let upload: RateLimitPolicy
    private let session: RateLimitPolicy
    private let notification: RateLimitPolicy

    /// - Parameter limits: those of everybody; a tier has its own numbers in the same windows.
    package init(_ settings: Settings.Tier, limits: Settings.Limits) {
        lifetime = settings.lifetime
        scope = settings.scope
        storageLimit = settings.storageLimit
        requiresSubscription = settings.requiresSubscription
        renew = RateLimitPolicy(
            .renew, limits, quota: .init(settings.renewals, user: settings.userRenewals),
            quantity: .init(settings.renewedKeys, user: settings.userRenewedKeys))
        let vends = RateLimitPolicy.Quota(settings.vends, user: settings.userVends)
        vend = RateLimitPolicy(.vend, limits, quota: vends)
        vendAll = RateLimitPolicy(.vendAll, limits, quota: vends.times(RateLimitName.vendsForEach))
        upload = RateLimitPolicy(
            .upload, limits, quota: .init(settings.uploads, user: settings.userUploads),
            quantity: .init(settings.uploadedBytes, user: settings.userUploadedBytes))
        session = RateLimitPolicy(.session, limits)
        notification = RateLimitPolicy(.notification, limits)
    }

    func terms(of cost: RateLimitCost) -> RateLimitPolicy {
        switch cost.name {
        case .renew, .renewKeys: renew
        case .vend: vend
        case .vendAll: vendAll
        case .upload, .uploadBytes: upload
        case .session: session
        case .notification: notification
        }
    }
}
