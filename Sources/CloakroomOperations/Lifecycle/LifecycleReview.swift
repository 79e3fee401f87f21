package import CloakroomAWS
import CloakroomServer

/// Holds a bucket's lifecycle against what a deployment promises.
///
/// Source: S3 User Guide, "Managing the lifecycle of objects", "Lifecycle configuration elements".
package struct LifecycleReview: Sendable {
    package let findings: [LifecycleFinding]
    /// Whether the bucket keeps tiered photos; `nil` where users have no folders for them.
    package let tiered: TieredReview?

    static let apply = "run: cloakroom lifecycle apply"
    static let archives: Set<String> = ["GLACIER", "DEEP_ARCHIVE"]

    /// Nothing that breaks a promise.
    package var isGood: Bool { !findings.contains { $0.severity == .error } }

    package init(_ configuration: LifecycleConfiguration, _ versioning: BucketVersioning, _ terms: LifecycleTerms) {
        let enabled = configuration.rules.filter(\.isEnabled)
        tiered = TieredReview(enabled, versioning, terms)
        var findings = Self.userFolders(enabled, terms) + Self.expiration(configuration, terms)
        findings += enabled.flatMap { Self.oneRule($0, of: enabled, terms) }
        for rule in configuration.rules where !rule.isEnabled {
            findings.append(
                LifecycleFinding(
                    .warning, .disabled, rule: rule.name, "the rule \(rule.name) is disabled: it does nothing",
                    advice: "enable it, or delete it"))
        }
        findings += Self.versions(enabled, versioning, terms) + Self.testVersions(enabled, versioning, terms)
        findings += Self.chat(enabled, versioning, terms)
        // Where assets are put and where users put theirs.
        let aborted = enabled.filter { $0.abortMultipartDays != nil }
        if (terms.expiring + terms.users.parents + [terms.chat?.prefix].compactMap(\.self)).contains(where: { place in
            !aborted.contains { $0.filter.isOfPrefixAlone && place.hasPrefix($0.filter.prefix) }
        }) {
            findings.append(
                LifecycleFinding(
                    .error, .partsStay,
                    "multipart uploads that are never completed stay for ever, unseen in listings, and are billed",
                    advice: Self.apply))
        }
        self.findings = findings
    }

    private static func oneRule(
        _ rule: LifecycleRule, of enabled: [LifecycleRule], _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        let shared = unknown(rule, terms) + tieredTransitions(rule, terms)
        guard terms.touches(rule.filter) else { return shared }
        let effective = enabled.filter { other in
            other.filter.isOfPrefixAlone && terms.expiring.contains { $0.hasPrefix(other.filter.prefix) }
                && rule.filter.prefix.hasPrefix(other.filter.prefix)
        }
        .compactMap(\.expirationDays).min()
        return early(rule, effective, terms) + transitions(rule, effective: effective) + shared
    }

    /// - Parameter effective: after how many days everything expires that the rule is for; `nil`: never, or not all.
    private static func early(
        _ rule: LifecycleRule, _ effective: Int?, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        let (name, objects) = (rule.name, LifecycleDescription.objects(rule.filter))
        if case .date(let date) = rule.expiration {
            return [
                LifecycleFinding(
                    .error, .date, rule: name,
                    "the rule \(name) deletes \(objects) on \(date), and from then on every day, renewed or not",
                    advice: "delete the rule")
            ]
        }
        // Rules for all of a prefix were looked at together.
        guard terms.covered(by: rule.filter).isEmpty, let days = rule.expirationDays else { return [] }
        guard let promised = terms.retentionDays else {
            return [
                LifecycleFinding(
                    .error, .expiresSomeEarly, rule: name,
                    "the rule \(name) expires \(objects) after \(days) days, but renewal.retentionDays is null: nothing is to"
                        + " expire",
                    advice: "delete the rule, or keep assets out of its way")
            ]
        }
        if days < promised {
            return [
                LifecycleFinding(
                    .error, .expiresSomeEarly, rule: name,
                    "the rule \(name) expires \(objects) after \(days) days, before the \(promised) that "
                        + "workers promise",
                    advice: "delete the rule, or keep assets out of its way")
            ]
        }
        guard let effective, days >= effective else { return [] }
        return [
            LifecycleFinding(
                .warning, .overlap, rule: name,
                "the rule \(name) never has an effect: everything is gone after \(effective) days",
                advice: "delete the rule")
        ]
    }

    private static func unknown(_ rule: LifecycleRule, _ terms: LifecycleTerms) -> [LifecycleFinding] {
        guard !rule.unknown.isEmpty else { return [] }
        let text =
            "the rule \(rule.name) says what this version does not understand: " + rule.unknown.joined(separator: ", ")
        let advice = "look at it yourself; apply leaves it as it is"
        let parents = rule.hasUnknownActions ? rule.parents(of: terms.tiered) : []
        guard !parents.isEmpty else {
            return [LifecycleFinding(.warning, .notUnderstood, rule: rule.name, text, advice: advice)]
        }
        let places = LifecycleCoverage.list(parents.map { $0 + "USER/" })
        return [
            LifecycleFinding(
                .error, .notUnderstood, rule: rule.name, "\(text); it may delete tiered photos (\(places))",
                advice: "\(advice); keep it out of these folders")
        ]
    }

    /// Objects of that class are archived where the bucket has a configuration for it, which no rule shows.
    private static func tieredTransitions(_ rule: LifecycleRule, _ terms: LifecycleTerms) -> [LifecycleFinding] {
        guard !rule.parents(of: terms.tiered).isEmpty,
            rule.transitions.contains(where: { !$0.isOfNoncurrent && $0.storageClass == "INTELLIGENT_TIERING" })
        else { return [] }
        return [
            LifecycleFinding(
                .warning, .transition, rule: rule.name,
                "the rule \(rule.name) moves tiered photos to INTELLIGENT_TIERING: with an archive configuration of the bucket"
                    + " they cannot be read some day",
                advice: "see that the bucket has none: aws s3api list-bucket-intelligent-tiering-configurations")
        ]
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
        _ enabled: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        guard versioning != .never else { return [] }
        let state = versioning == .enabled ? "versioning is on" : "versioning is suspended, but was on"
        let whole = enabled.filter { $0.noncurrentExpiration != nil && !terms.covered(by: $0.filter).isEmpty }
        let ending = whole.filter { $0.noncurrentExpiration?.newerVersions == nil }
        let staying = terms.expiring.filter { prefix in
            !ending.contains { prefix.hasPrefix($0.filter.prefix) }
        }
        guard let first = staying.first else { return [] }
        if let rule = whole.first(where: { first.hasPrefix($0.filter.prefix) }),
            let kept = rule.noncurrentExpiration?.newerVersions
        {
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
                "\(state), and no rule expires old versions of \(LifecycleTerms.objects(staying)): an expired object is"
                    + " only hidden, each renewal leaves one more version, and all of them are billed for ever",
                advice: apply)
        ]
    }
}

extension LifecycleReview {
    /// Versions of what renewals are tested with: they are few and small, so this breaks no promise.
    private static func testVersions(
        _ enabled: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms
    ) -> [LifecycleFinding] {
        let ending = enabled.filter { rule in
            rule.filter.isOfPrefixAlone && rule.noncurrentExpiration.map { $0.newerVersions == nil } ?? false
        }
        let staying = terms.renewalTests.filter { key in !ending.contains { key.hasPrefix($0.filter.prefix) } }
        guard versioning != .never, !staying.isEmpty else { return [] }
        return [
            LifecycleFinding(
                .warning, .noncurrentStay,
                "no rule expires old versions of what renewals are tested with (\(LifecycleCoverage.list(staying))): each"
                    + " test leaves one for ever",
                advice: apply)
        ]
    }
}

extension LifecycleRule {
    /// For people: rules may have no ID.
    var name: String { id.isEmpty ? "without an ID" : "\"\(id)\"" }
}

extension LifecycleRule.Filter {
    /// Whether it has no condition besides its prefix.
    var isOfPrefixAlone: Bool {
        var rest = self
        rest.prefix = ""
        return rest.isEverything
    }
}
