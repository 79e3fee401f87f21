#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What one user may do now, by tier and record.
package struct Entitlement: Sendable {
    /// What a request wants; what it needs differs.
    package enum Use: Sendable, Equatable {
        /// Credentials; whether they could store anything.
        case vend(writes: Bool)
        case upload
        case renew
    }

    /// Why a user gets nothing; the raw value is the word for the log and the metric.
    package enum Refusal: String, Error, Sendable, CaseIterable {
        case userDisabled = "user_disabled"
        /// The token is older than a revocation.
        case sessionRevoked = "session_revoked"
        case subscriptionRequired = "subscription_required"
        case storageExceeded = "storage_quota_exceeded"
        /// The settings refuse whom no record knows.
        case noRecord = "no_record"
        /// The record names a tier that the settings lack: the operator has to fix the one or the others.
        case unknownTier = "unknown_tier"
        /// The record says what none of our commands writes: the operator has to fix it.
        case malformedRecord = "malformed_record"
    }

    /// As it stands in tags and in the audit.
    package let tierName: String
    package let tier: Tier
    /// Credentials issued before are not handed out again.
    package let revokedBefore: Date?
    /// What others share with the user.
    let shares: UserRecord.Shares
    private let isTierUnknown: Bool
    private let isSubscribed: Bool
    private let isFull: Bool

    /// - Parameter isTierUnknown: whether the record names another tier, one that the settings lack.
    package init(
        tierName: String, tier: Tier, record: UserRecord, isTierUnknown: Bool = false, now: @autoclosure () -> Date
    ) {
        self.tierName = tierName
        self.tier = tier
        self.isTierUnknown = isTierUnknown
        revokedBefore = record.revokedBefore
        shares = record.shares
        isSubscribed = record.subscriptionEnd.map { now() < $0 } ?? false
        isFull = record.storageUsed >= record.storageLimit ?? tier.storageLimit ?? .max
    }

    /// Of a user without a record nothing is known but what a scan counted and what others share.
    init(tierName: String, tier: Tier, storageUsed: Int, shares: UserRecord.Shares = .init()) {
        self.tierName = tierName
        self.tier = tier
        revokedBefore = nil
        self.shares = shares
        isTierUnknown = false
        isSubscribed = false
        isFull = storageUsed >= tier.storageLimit ?? .max
    }

    /// While Redis is unreachable nothing is known of a record, and nothing is held against the user.
    init(unknownTo tierName: String, tier: Tier) {
        self.tierName = tierName
        self.tier = tier
        revokedBefore = nil
        shares = UserRecord.Shares()
        isTierUnknown = false
        isSubscribed = true
        isFull = false
    }

    /// The most that can be granted.
    var grant: Grant { Grant(scope: tier.scope, lifetime: tier.lifetime, tier: tierName) }

    /// Renewing needs neither a subscription nor room, nor a tier that the settings have: what is stored already is not lost
    /// to a payment that is late, or to a tier that was renamed.
    /// Credentials that cannot store anything need no room: who has too much must be able to fetch it.
    ///
    /// - Returns: `nil` when nothing stands against it.
    package func refusal(of use: Use) -> Refusal? {
        switch use {
        case .renew: nil
        case .vend(writes: false): refusalOfTier
        case .vend(writes: true), .upload: refusalOfTier ?? (isFull ? .storageExceeded : nil)
        }
    }

    private var refusalOfTier: Refusal? {
        isTierUnknown ? .unknownTier : tier.requiresSubscription && !isSubscribed ? .subscriptionRequired : nil
    }
}
