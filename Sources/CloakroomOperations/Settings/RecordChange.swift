package import CloakroomServer

/// What becomes of users' records when settings take the place of others: whether they name tiers that are gone, and whether
/// they are looked for where they are.
package struct RecordChange: Sendable {
    package let warnings: [SettingsReview.Remark]

    package init(from former: Settings, to settings: Settings) {
        // Where no record is read, none is missed.
        let areRead = former.entitlements.enabled && settings.entitlements.enabled
        warnings =
            areRead ? [Self.tiers(former, settings), Self.place(former.redis, settings.redis)].compactMap(\.self) : []
    }

    /// Without tiers every name is taken for the same tier, and records may have any.
    private static func tiers(_ former: Settings, _ settings: Settings) -> SettingsReview.Remark? {
        guard !settings.tiers.isEmpty else { return nil }
        let gone = former.tiers.keys.filter { settings.tiers[$0] == nil }.sorted()
        guard !gone.isEmpty || former.tiers.isEmpty else { return nil }
        let users =
            gone.isEmpty
            ? "there were no tiers: users whose record names another"
            : "users of tiers that are gone (\(gone.joined(separator: ", ")))"
        return SettingsReview.Remark(
            text: "\(users) get no credentials and no uploads (unknown_tier); their renewals go on by the limits of"
                + " \(settings.vending.defaultTier)",
            advice: "give these users another tier first, with cloakroom user set ID --tier; cloakroom user list marks"
                + " them when it is given the new settings")
    }

    private static func place(_ former: Settings.Redis, _ redis: Settings.Redis) -> SettingsReview.Remark? {
        var changes: [String] = []
        if !former.servers.mayBe(redis.servers) {
            changes.append("Redis was \(former.servers), and is \(redis.servers)")
        }
        if former.database != redis.database {
            changes.append("redis.database was \(former.database), and is \(redis.database)")
        }
        if former.keyPrefix != redis.keyPrefix {
            changes.append("redis.keyPrefix was \"\(former.keyPrefix)\", and is \"\(redis.keyPrefix)\"")
        }
        guard !changes.isEmpty else { return nil }
        return SettingsReview.Remark(
            text: "users' records are looked for elsewhere: \(changes.joined(separator: "; "))."
                + " Disablings, revocations, tiers, storage limits and shares that are not there are not seen, and limits"
                + " begin anew",
            advice: "nothing, if it is the same place by another name, or all keys are copied there first; else users"
                + " who were disabled or revoked are served again")
    }
}

extension Settings.Redis.Servers {
    /// Whether others have the same records, as far as settings tell: of the sentinels or nodes that are given, some may be
    /// others than before.
    fileprivate func mayBe(_ other: Self) -> Bool {
        switch (self, other) {
        case (.single(let one), .single(let two)): one == two
        case (.sentinels(let some, let master), .sentinels(let others, let otherMaster)):
            master == otherMaster && !Set(some).isDisjoint(with: others)
        case (.cluster(let some), .cluster(let others)): !Set(some).isDisjoint(with: others)
        case (.single, _), (.sentinels, _), (.cluster, _): false
        }
    }
}
