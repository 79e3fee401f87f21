package import CloakroomServer

/// What settings without a fault mean that an operator should know before `serve` runs with them.
package struct SettingsReview: Sendable {
    package struct Remark: Sendable, Equatable {
        package let text: String
        /// What to do about it.
        package let advice: String

        package init(text: String, advice: String) { (self.text, self.advice) = (text, advice) }

        package var error: String { "error: \(text)\n    \(advice)" }
        package var warning: String { "warning: \(text)\n    \(advice)" }
    }

    package let errors: [Remark]
    package let warnings: [Remark]
    /// What the policies of the worker and of a CDN have to allow.
    package let policies: String

    package init(_ settings: Settings) {
        let terms = LifecycleTerms(settings)
        errors = [LifecycleConflict(terms)].compactMap(\.self).map { Remark(text: $0.text, advice: $0.advice) }
        warnings =
            Self.shortLifetimes(settings) + Self.sharedQuotas(settings.vending.roles)
            + Self.uncovered(settings, terms)
            + [settings.uploads.assetURLWarning, settings.partsWarning].compactMap(\.self)
        let places = settings.policyPlaces.map { "\($0.prefix)* (\($0.setting))" }.joined(separator: ", ")
        policies =
            "Policies allow: \(places)" + (settings.chatPolicy.map { ", \($0)" } ?? "")
            + (settings.renewal.ownFolders == nil ? ", and deny users' folders" : "")
    }

    /// What the policies of the worker and of a CDN have to allow besides, and what they need not any more, when settings
    /// take the place of others.
    ///
    /// The policies change first: where a place is missing in them, S3 answers 403.
    package static func policyChange(from former: Settings, to settings: Settings) -> String {
        func uncovered(_ places: [AssetPrefix], by others: [AssetPrefix]) -> [String] {
            places.filter { place in !others.contains { place.prefix.hasPrefix($0.prefix) } }
                .map { "\($0.prefix)* (\($0.setting))" }
        }
        let (before, after) = (former.policyPlaces, settings.policyPlaces)
        let chat = ChatPolicyChange(from: former, to: settings)
        let added = uncovered(after, by: before) + [chat.added].compactMap(\.self)
        let dropped = uncovered(before, by: after)
        var lines: [String] = []
        if !added.isEmpty { lines.append("Policies have to allow besides: \(added.joined(separator: ", "))") }
        if !dropped.isEmpty { lines.append("Policies need not allow any more: \(dropped.joined(separator: ", "))") }
        lines += [chat.kept].compactMap(\.self) + roleLines(from: former.vending.roles, to: settings.vending.roles)
        return lines.isEmpty ? "Policies stay as they are" : lines.joined(separator: "\n")
    }

    package var lines: [String] {
        errors.map(\.error) + warnings.map(\.warning)
    }

    private static func uncovered(_ settings: Settings, _ terms: LifecycleTerms) -> [Remark] {
        guard terms.retentionDays != nil else { return [] }
        return settings.assetPrefixes.filter { terms.names.contains($0.prefix) }.map { place in
            Remark(
                text: "what is renewed \(Self.place(place)) never expires: none of lifecycle.prefixes is for it",
                advice: "nothing, if no assets are there; else see: cloakroom lifecycle plan-prefixes --help")
        }
    }

    /// AWS SDKs fetch credentials with every call from 15 minutes before their end on.
    private static func shortLifetimes(_ settings: Settings) -> [Remark] {
        let tiers = settings.tiers.map { ("tiers.\($0.key).lifetimeSeconds", $0.value.lifetime) }
        let lifetimes = tiers.isEmpty ? [("vending.lifetimeSeconds", settings.vending.lifetime)] : tiers
        return lifetimes.filter { $0.1 < .seconds(2400) }.map(\.0).sorted().map { name in
            Remark(
                text:
                    "\(name) is below 2400: AWS SDKs that read /v1/credentials fetch credentials with every call in the"
                    + " last 15 minutes", advice: "give 3600 if clients use that route")
        }
    }

    /// AWS counts calls of STS by the account that makes them, and by Region (IAM User Guide, "IAM and AWS STS quotas").
    private static func sharedQuotas(_ roles: SessionRoles) -> [Remark] {
        roles.active.enumerated().compactMap { index, role in
            guard let other = roles.active[..<index].first(where: { $0.calls(likeThoseOf: role) }) else { return nil }
            return Remark(
                text:
                    "the roles \(other.name) and \(role.name) share one quota of STS: same credentials, same endpoint",
                advice: "give \(role.name) a profile of another account, or a stsRegion of its own")
        }
    }

    /// Roles that a user's sessions may still be of, and that revocations would not reach.
    private static func roleLines(from former: SessionRoles, to roles: SessionRoles) -> [String] {
        let reached = Set(roles.distinct.map(\.arn))
        return former.distinct.filter { !reached.contains($0.arn) }.map {
            "Revocations would not reach sessions of \($0.arn): keep it in vending.roles with retired: true for 12 hours"
        }
    }

    private static func place(_ place: AssetPrefix) -> String {
        place.prefix.isEmpty
            ? "in the bucket itself (\(place.setting) is \"\")" : "under \(place.prefix) (\(place.setting))"
    }
}

extension Settings.Uploads {
    /// What is doubtful about a base URL with a path: keys begin with ``keyPrefix`` already. `nil` without a path.
    fileprivate var assetURLWarning: SettingsReview.Remark? {
        guard let base = assetBaseURL, let path = WebOrigin(base)?.rest, !path.isEmpty else { return nil }
        let repeats = !keyPrefix.isEmpty && "\(path)/".hasSuffix("/" + keyPrefix)
        return SettingsReview.Remark(
            text: "uploads.assetBaseURL: its path \"\(path)\" "
                + (repeats
                    ? "repeats uploads.keyPrefix" : "is no part of any key (uploads.keyPrefix is \"\(keyPrefix)\")")
                + ": clients get \(base)/\(keyPrefix)NAME.bin",
            advice: "nothing, if the CDN takes the path off; else leave it out")
    }
}

extension Settings {
    /// Multipart uploads that the worker still takes parts of, while the bucket has dropped those before.
    fileprivate var partsWarning: SettingsReview.Remark? {
        let (lifetime, days) = (uploads.multipartLifetime, lifecycle.abortMultipartDays)
        guard !uploads.idKeys.isEmpty, Duration.seconds(days * 86_400) < lifetime else { return nil }
        let seconds = lifetime.components.seconds
        return SettingsReview.Remark(
            text: "uploads.multipartLifetimeSeconds is \(seconds), but the bucket's rule drops the parts of unfinished"
                + " uploads after \(LifecycleDescription.count(days)) (lifecycle.abortMultipartDays)",
            advice: "give lifecycle.abortMultipartDays: \((seconds + 86_399) / 86_400) or more, or a shorter lifetime")
    }
}
