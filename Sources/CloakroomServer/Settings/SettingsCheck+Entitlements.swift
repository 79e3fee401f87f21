extension SettingsCheck {
    /// What tiers, records and the rest of the settings say against each other.
    var entitlementFaults: [SettingsError] {
        tierFaults + [defaultTierUnknown, unreadRecords, openWithoutRecords].compactMap(\.self)
    }

    private var tiers: [(name: String, values: SettingsValues<SettingsTable.Tier>)] { values.valid(\.tiers) ?? [] }

    private var defaultTierUnknown: SettingsError? {
        let names = tiers.map(\.name)
        guard !names.isEmpty, let name = values.valid(\.vending.defaultTier), !names.contains(name) else { return nil }
        return values.fault(\.vending.defaultTier, "is \"\(name)\", which tiers lacks", Self.remedy(name, names))
    }

    private var tierFaults: [SettingsError] {
        tiers.compactMap { _, tier in
            guard let scope = tier.valid(\.scope), !scopeNames.contains(scope) else { return nil }
            return tier.fault(\.scope, "is \"\(scope)\", which is no scope", Self.remedy(scope, scopeNames))
        }
    }

    /// For credentials with a session token. IAM User Guide, "Role chaining": one hour at most, and a longer session is
    /// refused, not shortened.
    var chainedLifetimeFaults: [SettingsError] {
        let lifetimes =
            [(values.path(of: \.vending.lifetimeSeconds), values.valid(\.vending.lifetimeSeconds))]
            + tiers.map { _, tier in (tier.path(of: \.lifetimeSeconds), tier.valid(\.lifetimeSeconds)) }
        return lifetimes.compactMap { path, lifetime in
            guard let lifetime, lifetime > 3600 else { return nil }
            return SettingsError(
                path, "is \(lifetime), but credentials with a session token can vend 3600 at most",
                "give 3600 or less, or the keys of an IAM user")
        }
    }

    static func remedy(_ name: String, _ names: [String]) -> String {
        let nearest = names.map { ($0, editDistance($0, name)) }.min { $0.1 < $1.1 }
        if let nearest, nearest.1 <= max(1, name.utf8.count / 3) { return "did you mean \"\(nearest.0)\"?" }
        return "give one of: \(names.joined(separator: ", "))"
    }

    /// What only a record tells, while none is read.
    private var unreadRecords: SettingsError? {
        guard values.valid(\.entitlements.enabled) == false else { return nil }
        if refusesUnknown {
            return values.fault(
                \.entitlements.withoutRecord, "is \"refuse\", but no record is read",
                "give \"default\", or entitlements.enabled: true")
        }
        if values.valid(\.vending.sharing) == true {
            return values.fault(
                \.vending.sharing, "is true, but no record is read, where what is shared stands",
                "give false, or entitlements.enabled: true")
        }
        return tiers.first { $0.values.valid(\.requiresSubscription) == true }?.values.fault(
            \.requiresSubscription, "is true, but no record is read", "give false, or entitlements.enabled: true")
    }

    private var openWithoutRecords: SettingsError? {
        guard values.valid(\.limits.vend.whenRedisIsAway) == .open, refusesUnknown else { return nil }
        return values.fault(
            \.limits.vend.whenRedisIsAway, "is \"open\", while entitlements.withoutRecord refuses whom no record knows",
            "give \"closed\": without Redis no user has a record")
    }

    private var refusesUnknown: Bool { values.valid(\.entitlements.withoutRecord) == .refuse }
}
