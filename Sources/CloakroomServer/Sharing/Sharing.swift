import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Gives sessions what other users share with theirs, and tells of what cannot be given.
@LoopActor
final class Sharing {
    private struct Key: Hashable {
        let user: UserID
        let scope: Scope
        let tier: String
        let shares: [SharedFolder]
    }

    private let rules: SharingRules
    private let metrics: Metrics
    private let log: Log
    private let now: @Sendable () -> Date
    /// How large a policy is when packed takes longer to work out than all the rest of a request.
    private var known = GenerationalCache<Key, SharedFolders>(capacity: 10_000)

    init(_ settings: Settings, metrics: Metrics, log: Log, now: @escaping @Sendable () -> Date) {
        rules = SharingRules(settings)
        self.metrics = metrics
        self.log = log
        self.now = now
    }

    /// Never fails: what cannot be given is left out, and the user's own is vended all the same.
    func folders(_ shares: UserRecord.Shares, for user: UserID, _ grant: Grant) -> SharedFolders {
        let current = rules.current(shares.folders, for: user, at: now())
        let key = Key(user: user, scope: grant.scope, tier: grant.tier, shares: current)
        if let shared = known.value(for: key) { return shared }
        let (shared, omitted) = rules.fitting(current, for: user, grant)
        known.insert(shared, for: key)
        for (folder, why) in omitted { tell(why, user, folder.prefix) }
        for _ in 0..<shares.unreadable { tell(.unreadable, user, nil) }
        return shared
    }

    private func tell(_ why: SharingRules.Omission, _ user: UserID, _ prefix: String?) {
        metrics.omittedShare(why)
        log.warning(
            "a shared folder is left out",
            ["reason": .text(why.rawValue), "user": .text(user.text), "prefix": prefix.map { .text($0) }])
    }
}
