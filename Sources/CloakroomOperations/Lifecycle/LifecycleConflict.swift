import CloakroomServer

/// Lifecycle prefixes of the settings whose rules would match objects in users' folders, while nothing says that this
/// is wanted.
package struct LifecycleConflict: Sendable, Equatable {
    package let prefixes: [String]
    /// The places of the users' folders, each empty or ending in `/`.
    package let folders: [String]
    private let retentionDays: Int
    /// Whether users' folders are to expire, and those of tiered photos are among them.
    private let isOfTiers: Bool

    /// - Returns: `nil` where there is none: also where no object expires.
    package init?(_ terms: LifecycleTerms) {
        guard let days = terms.retentionDays else { return nil }
        let kept = terms.kept
        let met = terms.prefixes.map { (prefix: $0, folders: kept.met(by: $0)) }.filter { !$0.folders.isEmpty }
        guard !met.isEmpty else { return nil }
        prefixes = met.map(\.prefix)
        folders = kept.parents.filter { place in met.contains { $0.folders.contains(place) } }
        retentionDays = days
        isOfTiers = terms.expiresUserFolders
    }

    package var text: String {
        let rules = prefixes.map { "\"\($0)\"" }.joined(separator: ", ")
        let places = LifecycleCoverage.list(folders)
        let end = "would expire after \(LifecycleDescription.count(retentionDays))"
        return isOfTiers
            ? "lifecycle.prefixes has \(rules), and tiered photos are there as well (\(places)): what no device has any more"
                + " \(end)"
            : "lifecycle.prefixes has \(rules), and users' folders are there as well (\(places)): what users store \(end)"
    }

    package var advice: String {
        let prefixes =
            "give prefixes beside users' folders, such as uploads.keyPrefix: \"assets/\" and lifecycle.prefixes:"
            + " [\"assets/\"]"
        return isOfTiers
            ? "\(prefixes): \(Self.tieredAdvice)"
            : "\(prefixes), or lifecycle.expiresUserFolders: true if users' folders are to expire"
    }

    static let tieredAdvice =
        "lifecycle.expiresUserFolders allows no loss of tiered photos; where no app tiers photos, take catalogs out of"
        + " vending.prefixes"
}
