package import CloakroomServer

/// The folders of tiered photo storage, as far as users have them.
///
/// The kit's layout is fixed: photos, their thumbnails, and the snapshots of catalogs, without which no photo leaves a
/// device.
package struct TieredFolders: Sendable, Equatable {
    private static let all = ["photos/", "thumbnails/", "catalogs/"]

    /// All of them, or none where users lack one: then no photo is in the bucket alone.
    package let parents: [String]
    /// What an operator should know who wants tiers; `nil` where that is nothing.
    package let note: String?

    package init(_ users: UserFolders) {
        let missing = Self.all.filter { !users.parents.contains($0) }
        parents = missing.isEmpty ? Self.all : []
        note =
            missing == ["catalogs/"]
            ? "users have photos and thumbnails, but no catalogs (vending.prefixes): tiers keep no catalog snapshots, so"
                + " nothing leaves the devices" : nil
    }
}

extension Settings {
    package var tieredFolders: TieredFolders { TieredFolders(userFolders) }
}
