import CloakroomAWS
import CloakroomServer

/// What the rules do to whole prefixes, and to users' folders.
extension LifecycleReview {
    /// Whether all expires, and when it was promised to; where nothing is to, whether an asset does.
    static func expiration(_ configuration: LifecycleConfiguration, _ terms: LifecycleTerms) -> [LifecycleFinding] {
        let expiring = configuration.rules.filter { $0.isEnabled && $0.expirationDays != nil }
        var staying: [String] = []
        var ends: [Int: [String]] = [:]
        var names: [[String]] = []
        // What is Cloakroom's own may expire in any case.
        for prefix in terms.retentionDays == nil ? terms.prefixes : terms.expiring {
            let whole = expiring.filter { $0.filter.isOfPrefixAlone && prefix.hasPrefix($0.filter.prefix) }
            guard let days = whole.compactMap(\.expirationDays).min() else {
                staying.append(prefix)
                continue
            }
            ends[days, default: []].append(prefix)
            let rules = whole.map(\.name)
            if whole.count > 1, !names.contains(rules) { names.append(rules) }
        }
        return noExpiration(staying, configuration, terms)
            + ends.sorted { $0.key < $1.key }.compactMap { unpromised($0.value, days: $0.key, terms) }
            + names.map { names in
                LifecycleFinding(
                    .warning, .overlap,
                    "\(names.count) rules expire the same objects (\(names.joined(separator: ", "))); the shortest counts",
                    advice: "keep one of them: cloakroom lifecycle apply")
            }
    }

    private static func unpromised(_ prefixes: [String], days: Int, _ terms: LifecycleTerms) -> LifecycleFinding? {
        let objects = prefixes == [""] ? "objects" : "objects under \(LifecycleCoverage.list(prefixes))"
        let change = "\(objects) expire \(days) days after they were written"
        guard let promised = terms.retentionDays else {
            return LifecycleFinding(
                .error, .tooShort, "\(change), but renewal.retentionDays is null: nothing is to expire",
                advice: "\(apply), which removes the rule if Cloakroom put it; else delete the rule, or set"
                    + " renewal.retentionDays to \(days)")
        }
        guard days != promised else { return nil }
        return LifecycleFinding(
            .error, days < promised ? .tooShort : .tooLong,
            days < promised
                ? "\(change); workers promise \(promised) days as expiresAt, and clients renew by that"
                : "\(change), later than the \(promised) days that workers tell as expiresAt",
            advice: "\(apply), or set renewal.retentionDays to \(days)")
    }

    private static func noExpiration(
        _ staying: [String], _ configuration: LifecycleConfiguration, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        guard terms.retentionDays != nil, !staying.isEmpty else { return [] }
        if staying == terms.expiring,
            let partial = configuration.rules.first(where: { $0.isEnabled && $0.expirationDays != nil })
        {
            return [
                LifecycleFinding(
                    .error, .filtered, rule: partial.name,
                    "the rule \(partial.name) is only for \(LifecycleDescription.objects(partial.filter)): all else stays for"
                        + " ever",
                    advice: apply)
            ]
        }
        let asleep = configuration.rules.first { !$0.isEnabled && $0.expirationDays != nil }
        let cause = asleep.map { "the rule \($0.name) would expire objects, but is disabled" }
        return [
            LifecycleFinding(
                .error, .noExpiration, rule: asleep?.name,
                "\(cause ?? "no rule expires \(LifecycleTerms.objects(staying))"): what is not renewed stays for ever",
                advice: apply)
        ]
    }

    /// Every rule that can match an object in a user's folder, not only ours: by age, by date, of noncurrent versions,
    /// or into an archive class.
    static func userFolders(_ enabled: [LifecycleRule], _ terms: LifecycleTerms) -> [LifecycleFinding] {
        let findings = enabled.compactMap { userFolders($0, terms) }
        guard findings.isEmpty, let conflict = LifecycleConflict(terms) else { return findings }
        return [LifecycleFinding(.error, .userFolders, conflict.text, advice: conflict.advice)]
    }

    /// The same of the rules alone that a plan would add.
    package static func userFolders(addedBy plan: LifecyclePlan, _ terms: LifecycleTerms) -> [LifecycleFinding] {
        plan.changes.compactMap { change -> LifecycleFinding? in
            guard case .added(let rule) = change else { return nil }
            return userFolders(rule, terms)
        }
    }

    private static func userFolders(_ rule: LifecycleRule, _ terms: LifecycleTerms) -> LifecycleFinding? {
        let folders = terms.kept.met(by: rule.filter.prefix)
        // Where users' folders may expire, older versions may as well: no device needs these.
        let effects = rule.effects.filter { !terms.expiresUserFolders || !$0.isOfNoncurrent }
        guard !folders.isEmpty, !effects.isEmpty else { return nil }
        let match = rule.filter.isOfPrefixAlone ? "matches" : "may match"
        let places = LifecycleCoverage.list(folders.map { $0 + "USER/" })
        return LifecycleFinding(
            .error, .userFolders, rule: rule.name,
            "the rule \(rule.name), for \(LifecycleDescription.objects(rule.filter)), \(match) objects in users' folders"
                + " (\(places)): it \(effects.map(\.text).joined(separator: ", and "))",
            advice: terms.expiresUserFolders
                ? "keep the rule out of these folders: \(LifecycleConflict.tieredAdvice)"
                : "keep the rule out of users' folders, or set lifecycle.expiresUserFolders: true if it is meant so")
    }
}
