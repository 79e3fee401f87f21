import CloakroomServer

/// Lifecycle prefixes of the settings whose rules would match objects in users' folders, while nothing says that this
/// is wanted.
package struct LifecycleConflict: Sendable, Equatable {
    package let prefixes: [String]
    /// The places of the users' folders, each empty or ending in `/`.
    package let folders: [String]
    private let retentionDays: Int

    /// - Returns: `nil` where there is none.
    package init?(_ terms: LifecycleTerms) {
        guard !terms.expiresUserFolders else { return nil }
        let met = terms.prefixes.map { (prefix: $0, folders: terms.users.met(by: $0)) }.filter { !$0.folders.isEmpty }
        guard !met.isEmpty else { return nil }
        prefixes = met.map(\.prefix)
        folders = terms.users.parents.filter { place in met.contains { $0.folders.contains(place) } }
        retentionDays = terms.retentionDays
    }

    package var text: String {
        let rules = prefixes.map { "\"\($0)\"" }.joined(separator: ", ")
        return "lifecycle.prefixes has \(rules), and users' folders are there as well"
            + " (\(LifecycleCoverage.list(folders))): what users store would expire after"
            + " \(LifecycleDescription.count(retentionDays))"
    }

    package var advice: String {
        "give prefixes beside users' folders, such as uploads.keyPrefix: \"assets/\" and lifecycle.prefixes:"
            + " [\"assets/\"], or lifecycle.expiresUserFolders: true if users' folders are to expire"
    }
}
