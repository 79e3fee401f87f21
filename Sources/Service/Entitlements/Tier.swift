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
    private let vendAll: LimitTerms
    private let upload: LimitTerms
    private let session: LimitTerms
    private let notification: LimitTerms

    /// - Parameter limits: those of everybody; a tier has its own numbers in the same windows.
    package init(_ settings: Settings.Tier, limits: Settings.Limits) {
        lifetime = settings.lifetime
        scope = settings.scope
        storageLimit = settings.storageLimit
        requiresSubscription = settings.requiresSubscription
        renew = LimitTerms(
            .renew, limits, quota: .init(settings.renewals, user: settings.userRenewals),
            volume: .init(settings.renewedKeys, user: settings.userRenewedKeys))
        let vends = LimitTerms.Quota(settings.vends, user: settings.userVends)
        vend = LimitTerms(.vend, limits, quota: vends)
        vendAll = LimitTerms(.vendAll, limits, quota: vends.times(LimitName.vendsForEach))
        upload = LimitTerms(
            .upload, limits, quota: .init(settings.uploads, user: settings.userUploads),
            volume: .init(settings.uploadedBytes, user: settings.userUploadedBytes))
        session = LimitTerms(.session, limits)
        notification = LimitTerms(.notification, limits)
    }

    func terms(of charge: Charge) -> LimitTerms {
        switch charge.name {
        case .renew, .renewKeys: renew
        case .vend: vend
        case .vendAll: vendAll
        case .upload, .uploadBytes: upload
        case .session: session
        case .notification: notification
        }
    }
}
