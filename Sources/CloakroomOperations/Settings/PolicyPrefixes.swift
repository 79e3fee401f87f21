package import CloakroomServer

extension Settings {
    /// Whether objects under a lifecycle prefix may be assets, users' or Cloakroom's own, by what the settings name.
    package func hasAssets(under prefix: String) -> Bool {
        if !userFolders.met(by: prefix).isEmpty { return true }
        let own = ownObjects.prefixes.contains { $0.hasPrefix(prefix) || prefix.hasPrefix($0) }
        let isOfChats = chatPrefix.map { $0.prefix.hasPrefix(prefix) || prefix.hasPrefix($0.prefix) } ?? false
        return own || isOfChats
            || assetPrefixes.map(\.prefix).contains { place in
                place.hasPrefix(prefix)
                    // Names have no slash.
                    || prefix.hasPrefix(place) && (renewal.keys == .any || !prefix.dropFirst(place.count).contains("/"))
            }
    }

    /// ``policyPrefixes``, or where users renew in their own folders, all of `renewal.keyPrefix`; each with the ARN of the
    /// bucket.
    package var policyPlaces: [AssetPrefix] {
        let bucket = "arn:\(vending.partition):s3:::\(self.bucket)/"
        let places =
            renewal.ownFolders == nil
            ? policyPrefixes
            : [AssetPrefix(prefix: renewal.keyPrefix, setting: "users renew in their own folders")]
        return places.map { AssetPrefix(prefix: bucket + $0.prefix, setting: $0.setting) }
    }

    /// The places that the policies of the worker and of the CDN have to allow, as `BUCKET/PLACE*` without users'
    /// folders; none lies within another.
    ///
    /// Where users renew in their own folders, the worker is let into all of `renewal.keyPrefix`, and these places are
    /// no measure.
    package var policyPrefixes: [AssetPrefix] {
        let all = assetPrefixes + [AssetPrefix(prefix: ownObjects.canaries, setting: "lifecycle.prefixes")]
        return all.enumerated().filter { index, place in
            !all.enumerated().contains { other, wide in
                place.prefix.hasPrefix(wide.prefix) && (place.prefix != wide.prefix || other < index)
            }
        }
        .map(\.element)
    }
}
