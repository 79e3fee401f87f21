/// A prefix in the bucket, of assets or of users' folders, and which setting says so.
package struct AssetPrefix: Sendable, Equatable {
    /// Empty, or ending in `/`.
    package let prefix: String
    package let setting: String

    package init(prefix: String, setting: String) {
        self.prefix = prefix
        self.setting = setting
    }
}

extension Settings {
    /// Where assets are put and renewed; each prefix once.
    package var assetPrefixes: [AssetPrefix] {
        let keys = SettingsTable.keys
        let all =
            [
                AssetPrefix(prefix: uploads.keyPrefix, setting: keys.uploads.keyPrefix.path),
                AssetPrefix(prefix: renewal.keyPrefix, setting: keys.renewal.keyPrefix.path),
            ] + renewal.otherPrefixes.map { AssetPrefix(prefix: $0, setting: keys.renewal.formerPrefixes.path) }
        return all.distinct
    }
}

extension [AssetPrefix] {
    /// Each prefix once, under the setting that names it first.
    var distinct: [AssetPrefix] {
        reduce(into: []) { kept, next in
            if !kept.contains(where: { $0.prefix == next.prefix }) { kept.append(next) }
        }
    }
}
