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
    private let release: RateLimitPolicy
    private let vend: RateLimitPolicy
    private let vendAll: RateLimitPolicy
    private let upload: RateLimitPolicy
    private let session: RateLimitPolicy
    /// An issuer's notifications have one limit, whatever tier their user has.
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
        release = RateLimitPolicy(.release, limits)
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
        case .release, .releaseKeys: release
        case .vend: vend
        case .vendAll: vendAll
        case .upload, .uploadBytes: upload
        case .session: session
        case .notification: notification
        }
    }
}

/// The tiers of the settings, and which of them a user has.
package struct Tiers: Sendable {
    private let byName: [String: Tier]
    /// What all have where the settings tell no tiers apart.
    private let common: Tier?
    private let defaultName: String

    /// - Precondition: the default is one of them.
    init(byName: [String: Tier], defaultName: String) {
        self.byName = byName
        self.defaultName = defaultName
        common = nil
    }

    package init(_ settings: Settings) {
        defaultName = settings.vending.defaultTier
        byName = settings.tiers.mapValues { Tier($0, limits: settings.limits) }
        common = settings.tiers.isEmpty ? Tier(settings.vending.commonTier, limits: settings.limits) : nil
    }

    /// The record's tier, else the token's, else the default.
    ///
    /// A token's issuer may know tiers that these settings do not: such a name counts as none.
    /// - Returns: `nil` when the record names a tier that the settings do not have.
    func tier(record: String?, claim: String?) -> (name: String, tier: Tier)? {
        if let record { return self[record].map { (record, $0) } }
        if let claim, let tier = self[claim] { return (claim, tier) }
        return self[defaultName].map { (defaultName, $0) }
    }

    package subscript(name: String) -> Tier? { common ?? byName[name] }
}

extension Settings.Vending {
    /// Where the settings tell no tiers apart, everybody has this one, whatever it is called.
    var commonTier: Settings.Tier { Settings.Tier(lifetime: lifetime, scope: scope) }
}

extension Settings {
    /// What is wrong with a tier's name for a record, in words; `nil` for nothing.
    package func faultOfTier(_ name: String) -> String? {
        guard Subject.isTier(name) else { return "takes 1…64 letters, digits and _.:/=+@-" }
        guard !tiers.isEmpty, tiers[name] == nil else { return nil }
        return "takes one of the settings' tiers: \(tiers.keys.sorted().joined(separator: ", "))"
    }

    /// Whether a record names a tier that these settings have not: nothing is vended to its user.
    package func lacksTier(of record: UserRecord) -> Bool {
        record.tier.map { !tiers.isEmpty && tiers[$0] == nil } ?? false
    }
}
