package import AWS

/// Holds a bucket's lifecycle against what a deployment promises.
///
/// Source: S3 User Guide, "Managing the lifecycle of objects", "Lifecycle configuration elements".
package struct LifecycleReview: Sendable {
    package let findings: [LifecycleFinding]

    private static let apply = "run: cloakroom lifecycle apply"
    private static let archives: Set<String> = ["GLACIER", "DEEP_ARCHIVE"]

    /// Nothing that breaks a promise.
    package var isGood: Bool { !findings.contains { $0.severity == .error } }

    package init(_ configuration: LifecycleConfiguration, _ versioning: BucketVersioning, _ terms: LifecycleTerms) {
        let enabled = configuration.rules.filter(\.isEnabled)
        let whole = enabled.filter { terms.isCovered(by: $0.filter) }
        let days = whole.compactMap(\.expirationDays).min()
        var findings = Self.expiration(configuration, whole, terms)
        findings += enabled.flatMap { Self.oneRule($0, isWhole: whole.contains($0), effective: days, terms) }
        for rule in configuration.rules where !rule.isEnabled {
            findings.append(
                LifecycleFinding(
                    .warning, .disabled, rule: rule.name, "the rule \(rule.name) is disabled: it does nothing",
                    advice: "enable it, or delete it"))
        }
        findings += Self.versions(whole, versioning, terms)
        if !whole.contains(where: { $0.abortMultipartDays != nil }) {
            findings.append(
                LifecycleFinding(
                    .error, .partsStay,
                    "uploads in parts that are never completed stay for ever, unseen in listings, and are billed",
                    advice: Self.apply))
        }
        self.findings = findings
    }

    /// Whether all expires, and when it was promised to.
    private static func expiration(
        _ configuration: LifecycleConfiguration, _ whole: [LifecycleRule], _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        let expiring = whole.filter { $0.expirationDays != nil }
        guard let days = expiring.compactMap(\.expirationDays).min() else {
            return [noExpiration(configuration, terms)]
        }
        var findings: [LifecycleFinding] = []
        let promised = terms.retentionDays
        if days < promised {
            findings.append(
                LifecycleFinding(
                    .error, .tooShort,
                    "objects expire \(days) days after they were written; workers promise \(promised) days as "
                        + "expiresAt, and clients renew by that",
                    advice: "\(apply), or set renewal.retentionDays to \(days)"))
        } else if days > promised {
            findings.append(
                LifecycleFinding(
                    .error, .tooLong,
                    "objects expire \(days) days after they were written, later than the \(promised) days that workers "
                        + "tell as expiresAt",
                    advice: "\(apply), or set renewal.retentionDays to \(days)"))
        }
        if expiring.count > 1 {
            let names = expiring.map(\.name).joined(separator: ", ")
            findings.append(
                LifecycleFinding(
                    .warning, .overlap,
                    "\(expiring.count) rules expire the same objects (\(names)); the shortest counts",
                    advice: "keep one of them: cloakroom lifecycle apply"))
        }
        return findings
    }

    private static func noExpiration(
        _ configuration: LifecycleConfiguration, _ terms: LifecycleTerms
    ) -> LifecycleFinding {
        let partial = configuration.rules.first { $0.isEnabled && $0.expirationDays != nil }
        if let partial {
            return LifecycleFinding(
                .error, .filtered, rule: partial.name,
                "the rule \(partial.name) is only for \(LifecycleWords.objects(partial.filter)): all else stays for ever",
                advice: "give the rule an empty filter: cloakroom lifecycle apply")
        }
        let asleep = configuration.rules.first { !$0.isEnabled && $0.expirationDays != nil }
        let cause = asleep.map { "the rule \($0.name) would expire objects, but is disabled" }
        return LifecycleFinding(
            .error, .noExpiration, rule: asleep?.name,
            "\(cause ?? "no rule expires \(terms.objects)"): what nobody renews stays for ever", advice: apply)
    }

    /// - Parameter effective: after how many days everything expires.
    private static func oneRule(
        _ rule: LifecycleRule, isWhole: Bool, effective: Int?, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        var findings: [LifecycleFinding] = []
        let name = rule.name
        let objects = LifecycleWords.objects(rule.filter)
        if !isWhole, terms.touches(rule.filter), let days = rule.expirationDays {
            if days < terms.retentionDays {
                findings.append(
                    LifecycleFinding(
                        .error, .expiresSomeEarly, rule: name,
                        "the rule \(name) expires \(objects) after \(days) days, before the \(terms.retentionDays) that "
                            + "workers promise",
                        advice: "delete the rule, or keep assets out of its way"))
            } else if let effective, days >= effective {
                findings.append(
                    LifecycleFinding(
                        .warning, .overlap, rule: name,
                        "the rule \(name) never has an effect: everything is gone after \(effective) days",
                        advice: "delete the rule"))
            }
        }
        if case .date(let date) = rule.expiration, terms.touches(rule.filter) {
            findings.append(
                LifecycleFinding(
                    .error, .date, rule: name,
                    "the rule \(name) deletes \(objects) on \(date), and from then on every day, renewed or not",
                    advice: "delete the rule"))
        }
        if terms.touches(rule.filter) { findings += transitions(rule, effective: effective) }
        if !rule.unknown.isEmpty {
            findings.append(
                LifecycleFinding(
                    .warning, .notUnderstood, rule: name,
                    "the rule \(name) says what this version does not understand: "
                        + rule.unknown.joined(separator: ", "),
                    advice: "look at it yourself; apply leaves it as it is"))
        }
        return findings
    }

    private static func transitions(_ rule: LifecycleRule, effective: Int?) -> [LifecycleFinding] {
        rule.transitions.compactMap { transition in
            // Where both are due, S3 expires.
            guard !transition.isOfNoncurrent, (transition.days ?? 0) < effective ?? .max else { return nil }
            let when = transition.days.map { "after \($0) days" } ?? "at a date"
            let change = "the rule \(rule.name) moves objects to \(transition.storageClass) \(when)"
            if archives.contains(transition.storageClass) {
                return LifecycleFinding(
                    .error, .archives, rule: rule.name,
                    "\(change): they can be neither read nor renewed from then on, and expire",
                    advice: "take the transition out of the rule")
            }
            return LifecycleFinding(
                .warning, .transition, rule: rule.name,
                "\(change): a renewal may then pay for a retrieval and for early deletion, and move them back",
                advice: "take the transition out of the rule: what lives 30 days gains nothing by it")
        }
    }

    private static func versions(
        _ whole: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        guard versioning != .never else { return [] }
        let state = versioning == .enabled ? "versioning is on" : "versioning is suspended, but was on"
        let expirations = whole.compactMap { rule in rule.noncurrentExpiration.map { (rule, $0) } }
        if expirations.contains(where: { $0.1.newerVersions == nil }) { return [] }
        if let (rule, expiration) = expirations.first, let kept = expiration.newerVersions {
            return [
                LifecycleFinding(
                    .error, .noncurrentStay, rule: rule.name,
                    "\(state), and the rule \(rule.name) keeps \(kept) old versions of each object for ever",
                    advice: "take NewerNoncurrentVersions out of the rule")
            ]
        }
        return [
            LifecycleFinding(
                .error, .noncurrentStay,
                "\(state), and no rule expires old versions: an expired object is only hidden, each renewal leaves one "
                    + "more version, and all of them are billed for ever",
                advice: apply)
        ]
    }
}

extension LifecycleRule {
    /// For people: rules may have no ID.
    var name: String { id.isEmpty ? "without an ID" : "\"\(id)\"" }
}

extension LifecycleTerms {
    /// Whether a rule may be for some of the assets.
    fileprivate func touches(_ filter: LifecycleRule.Filter) -> Bool {
        assets.contains { filter.prefix.hasPrefix($0) || $0.hasPrefix(filter.prefix) }
    }
}
