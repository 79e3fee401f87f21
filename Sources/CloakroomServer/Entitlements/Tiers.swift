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
}
