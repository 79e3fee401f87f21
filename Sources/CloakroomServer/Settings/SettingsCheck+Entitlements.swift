extension SettingsCheck {
    /// What tiers, records and the rest of the settings say against each other.
    var entitlementFaults: [SettingsError] {
        tierFaults + [defaultTierUnknown, unreadRecords, openWithoutRecords].compactMap(\.self)
    }

    private var tiers: [(name: String, values: SettingsEntries)] {
        if case .named(let tiers)? = values.values["tiers"] { tiers } else { [] }
    }

    private var defaultTierUnknown: SettingsError? {
        let names = tiers.map(\.name)
        guard !names.isEmpty, let name = text("vending.defaultTier"), !names.contains(name) else { return nil }
        return SettingsError("vending.defaultTier", "is \"\(name)\", which tiers lacks", Self.remedy(name, names))
    }

    private var tierFaults: [SettingsError] {
        tiers.flatMap { name, values in
            let tier = SettingsCheck(values: values)
            var faults: [SettingsError] = []
            if let scope = tier.text("scope"), !scopeNames.contains(scope) {
                faults.append(
                    SettingsError(
                        "tiers.\(name).scope", "is \"\(scope)\", which is no scope",
                        Self.remedy(scope, scopeNames)))
            }
            return faults
        }
    }

    /// For credentials with a session token. IAM User Guide, "Role chaining": one hour at most, and a longer session is
    /// refused, not shortened.
    var chainedLifetimeFaults: [SettingsError] {
        let lifetimes =
            [("vending.lifetimeSeconds", integer("vending.lifetimeSeconds"))]
            + tiers.map { name, values in
                ("tiers.\(name).lifetimeSeconds", SettingsCheck(values: values).integer("lifetimeSeconds"))
            }
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
        guard case .flag(false)? = values.values["entitlements.enabled"] else { return nil }
        if refusesUnknown {
            return SettingsError(
                "entitlements.withoutRecord", "is \"refuse\", but no record is read",
                "give \"default\", or entitlements.enabled: true")
        }
        guard let name = firstTierWithSubscription else { return nil }
        return SettingsError(
            "tiers.\(name).requiresSubscription", "is true, but no record is read",
            "give false, or entitlements.enabled: true")
    }

    private var openWithoutRecords: SettingsError? {
        guard text("limits.vend.whenRedisIsAway") == "open", refusesUnknown else { return nil }
        return SettingsError(
            "limits.vend.whenRedisIsAway", "is \"open\", while entitlements.withoutRecord refuses whom no record knows",
            "give \"closed\": without Redis no user has a record")
    }

    private var refusesUnknown: Bool { text("entitlements.withoutRecord") == "refuse" }

    private var firstTierWithSubscription: String? {
        tiers.first { if case .flag(true)? = $0.values.values["requiresSubscription"] { true } else { false } }?.name
    }
}
