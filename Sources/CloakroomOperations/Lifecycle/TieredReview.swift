package import CloakroomAWS
import CloakroomServer

/// Whether a bucket keeps photos that are on no device any more.
package struct TieredReview: Sendable, Equatable {
    /// Where they are: `photos/`, `thumbnails/`, `catalogs/`.
    package let parents: [String]
    /// Names of the enabled rules that delete or archive objects there, or may; of older versions as well, unless users'
    /// folders are to expire.
    package let rules: [String]
    package let versioning: BucketVersioning
    /// After how many days old versions are deleted there; `nil`: never.
    package let noncurrentDays: Int?

    /// - Returns: `nil` where users have no such folders.
    init?(_ enabled: [LifecycleRule], _ versioning: BucketVersioning, _ terms: LifecycleTerms) {
        guard !terms.tiered.isEmpty else { return nil }
        let matching = enabled.filter { !$0.parents(of: terms.tiered).isEmpty }
        parents = terms.tiered
        rules = matching.filter { rule in
            rule.hasUnknownActions || rule.effects.contains { !$0.isOfNoncurrent || !terms.expiresUserFolders }
        }.map(\.name)
        self.versioning = versioning
        noncurrentDays = matching.compactMap(\.noncurrentExpiration).filter { $0.newerVersions == nil }.map(\.days)
            .min()
    }

    /// `nil` where rules match: findings of their own name them.
    package var confirmation: String? {
        guard rules.isEmpty else { return nil }
        return "tiered photos: no rule of the bucket deletes or archives what is in "
            + LifecycleCoverage.list(parents.map { $0 + "USER/" })
    }

    package var versions: String {
        let end =
            noncurrentDays.map { "until a rule deletes them, \(LifecycleDescription.count($0)) later" }
            ?? "until the operator deletes them"
        return switch versioning {
        case .never: "tiered photos: versions are not kept: a photo that is deleted cannot be brought back"
        case .enabled:
            "tiered photos: versions are kept: the operator can bring back a photo that is deleted; removed photos and former"
                + " catalog snapshots are paid for \(end)"
        case .suspended:
            "tiered photos: versioning is suspended: a photo that was stored since then cannot be brought back once it is"
                + " deleted; older versions are paid for \(end)"
        }
    }
}

extension LifecycleRule {
    /// What a rule does, besides tidying up: for a sentence that begins with the rule.
    struct Effect {
        let isOfNoncurrent: Bool
        let text: String
    }

    /// What deletes objects, or makes them unreadable: an expiration, or a class from which they cannot be read.
    var effects: [Effect] {
        var effects: [Effect] = []
        switch expiration {
        case .days(let days):
            effects.append(
                Effect(isOfNoncurrent: false, text: "expires them after \(LifecycleDescription.count(days))"))
        case .date(let date): effects.append(Effect(isOfNoncurrent: false, text: "deletes them on \(date)"))
        case .deleteMarkers, nil: break
        }
        if let days = noncurrentExpiration?.days {
            let text = "deletes their older versions after \(LifecycleDescription.count(days))"
            effects.append(Effect(isOfNoncurrent: true, text: text))
        }
        for transition in transitions where LifecycleReview.archives.contains(transition.storageClass) {
            let what = transition.isOfNoncurrent ? "their older versions" : "them"
            let text = "moves \(what) to \(transition.storageClass), where they cannot be read"
            effects.append(Effect(isOfNoncurrent: transition.isOfNoncurrent, text: text))
        }
        return effects
    }

    /// Those of some users' folders that the rule can match objects in.
    func parents(of folders: [String]) -> [String] { UserFolders(folders).met(by: filter.prefix) }

    /// Whether it does what this version cannot read. Unknown conditions are none: they only spare objects.
    var hasUnknownActions: Bool { unknown.count > filter.unknown.count }
}
