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
    private let renew: LimitTerms
    private let vend: LimitTerms
    private let upload: LimitTerms
    private let session: LimitTerms
    private let notification: LimitTerms

    /// - Parameter limits: those of everybody; a tier has its own number of requests in the same windows.
    package init(_ settings: Settings.Tier, limits: Settings.Limits) {
        lifetime = settings.lifetime
        scope = settings.scope
        storageLimit = settings.storageLimit
        requiresSubscription = settings.requiresSubscription
        renew = LimitTerms(.renew, limits.renew, requests: settings.renewals)
        vend = LimitTerms(.vend, limits.vend, requests: settings.vends)
        upload = LimitTerms(.upload, limits.upload, requests: settings.uploads)
        session = LimitTerms(.session, limits.session)
        notification = LimitTerms(.notification, limits.notification)
    }

    package func limit(_ name: LimitName) -> LimitTerms {
        switch name {
        case .renew: renew
        case .vend: vend
        case .upload: upload
        case .session: session
        case .notification: notification
        }
    }
}

/// One limit of one tier, and how it is told.
package struct LimitTerms: Sendable {
    package let limit: Settings.Limit
    /// The value of `RateLimit-Policy`.
    package let policy: String

    init(_ name: LimitName, _ limit: Settings.Limit, requests: Int? = nil) {
        var limit = limit
        limit.requests = requests ?? limit.requests
        self.limit = limit
        policy = limit.policy(named: name)
    }
}
