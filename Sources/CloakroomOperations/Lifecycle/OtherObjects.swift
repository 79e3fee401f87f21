package import CloakroomServer

/// Objects of the bucket that are neither assets, users' nor Cloakroom's own, by their keys and the settings.
///
/// A rule for names in the bucket itself, such as `b`, matches `backups/db.sql` as well.
package struct OtherObjects: Sendable {
    /// Places of assets; none is empty.
    private let assets: [String]
    private let users: UserFolders
    private let own: OwnObjects
    private let anyKeyIsAsset: Bool

    package init(_ settings: Settings) {
        let places = settings.assetPrefixes.map(\.prefix)
        assets = places.filter { !$0.isEmpty }
        users = settings.userFolders
        own = settings.ownObjects
        anyKeyIsAsset = settings.renewal.keys == .any && places.contains("")
    }

    /// - Parameter prefix: of the lifecycle rule that matches the key.
    func contains(_ key: String, under prefix: String) -> Bool {
        guard !anyKeyIsAsset, !prefix.contains("/"), !users.hold(key), !own.hold(key) else { return false }
        return !assets.contains { key.utf8.starts(with: $0.utf8) } && !RootMatches.isDrawn(key)
    }
}
