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
        let unreadable: Int
    }

    /// How long what STS refused is not asked for again.
    private static let pause: TimeInterval = 600

    private let rules: SharingRules
    private let metrics: Metrics
    private let log: Log
    private let now: @Sendable () -> Date
    /// How large a policy is when packed takes longer to work out than all the rest of a request.
    private var known = GenerationalCache<Key, (fitting: SharedFolders, refusedUntil: Date)>(capacity: 10_000)

    init(_ settings: Settings, metrics: Metrics, log: Log, now: @escaping @Sendable () -> Date) {
        rules = SharingRules(settings)
        self.metrics = metrics
        self.log = log
        self.now = now
    }

    /// Never fails: what cannot be given is left out, and the user's own is vended all the same.
    func folders(_ shares: UserRecord.Shares, for user: UserID, _ grant: Grant) -> SharedFolders {
        let key = key(shares, user, grant)
        if let entry = known.value(for: key) { return entry.refusedUntil > now() ? .none : entry.fitting }
        let (fitting, omitted) = rules.fitting(key.shares, for: user, grant)
        known.insert((fitting, .distantPast), for: key)
        for (folder, why) in omitted { tell(why, user, folder.prefix) }
        for _ in 0..<key.unreadable { tell(.unreadable, user, nil) }
        return fitting
    }

    private func key(_ shares: UserRecord.Shares, _ user: UserID, _ grant: Grant) -> Key {
        let (folders, unreadable) = shares.read()
        let current = rules.current(folders, for: user, at: now()).prefix(SharingRules.maximumFolders)
        return Key(user: user, scope: grant.scope, tier: grant.tier, shares: Array(current), unreadable: unreadable)
    }

    /// STS has no room for it after all, or its role takes no such tags: the user's own is to be vended without.
    ///
    /// - Parameter code: that of STS.
    func refused(_ shares: UserRecord.Shares, for user: UserID, _ grant: Grant, code: String) {
        let key = key(shares, user, grant)
        // Many requests may have waited for one refusal.
        if let entry = known.value(for: key), entry.refusedUntil > now() { return }
        known.insert((grant.shared, now().addingTimeInterval(Self.pause)), for: key)
        for folder in grant.shared.folders { tell(.refused, user, folder.prefix, code: code) }
    }

    private func tell(_ why: SharingRules.Omission, _ user: UserID, _ prefix: String?, code: String? = nil) {
        metrics.omittedShare(why)
        log.warning(
            "a shared folder is left out",
            [
                "reason": .text(why.rawValue), "code": code.map { .text($0) }, "user": .text(user.text),
                "prefix": prefix.map { .text($0) },
            ])
    }
}
