/// Where users have folders, and where Cloakroom writes or renews for all of them: which user id would own the latter.
///
/// A user owns all that begins with a folder's parent, the id and `/`. So no valid id may be the next path component of
/// another prefix below the same parent.
struct PrefixOverlaps: Sendable {
    /// A user's folder that holds another prefix.
    struct Overlap: Sendable, Equatable {
        let folder: AssetPrefix
        let other: AssetPrefix
        let id: UserID
    }

    /// Where each user has a folder.
    let folders: [AssetPrefix]
    let others: [AssetPrefix]

    /// Users' folders within users' folders are ``Scopes``' affair, and ids that begin with
    /// ``ReservedUserIDs/ownPrefix`` are no user's.
    var overlaps: [Overlap] {
        others.flatMap { other in
            folders.compactMap { folder in
                guard let id = Scopes.owner(of: other.prefix, within: folder.prefix),
                    !id.text.hasPrefix(ReservedUserIDs.ownPrefix)
                else { return nil }
                return Overlap(folder: folder, other: other, id: id)
            }
        }
    }
}

extension PrefixOverlaps {
    init(_ settings: Settings) {
        let own = settings.vending.scopes.names.flatMap { name in
            (settings.vending.scopes[name]?.policy.folders ?? []).map {
                AssetPrefix(prefix: $0, setting: "vending.scopes.\(name).template")
            }
        }
        self.init(
            folders: (settings.vending.prefixes.map(Self.folder) + own).distinct,
            others: settings.assetPrefixes + [settings.chatPrefix].compactMap(\.self))
    }

    /// - Parameter name: one of `vending.prefixes`.
    static func folder(_ name: String) -> AssetPrefix {
        AssetPrefix(prefix: Settings.Vending.folder(name), setting: SettingsTable.keys.vending.prefixes.path)
    }
}

extension SettingsCheck {
    /// Below a folder of their own, no id can be kept from users; ``ReservedUserIDs`` is for the bucket itself.
    var prefixFaults: [SettingsError] {
        guard let folders = userFolders else { return [] }
        let overlaps = PrefixOverlaps(folders: folders, others: assetPrefixes).overlaps
        return overlaps.filter { !$0.folder.prefix.isEmpty }.map {
            SettingsError(
                $0.other.setting,
                "is \"\($0.other.prefix)\", which lies in the folder \($0.folder.prefix)\($0.id.text)/ that"
                    + " \($0.folder.setting) gives the user \($0.id.text)",
                "put it beside the users' folders, such as assets/")
        }
    }

    /// Where each user has a folder; `nil` where `vending.prefixes` has a fault of its own.
    var userFolders: [AssetPrefix]? {
        guard let names = values.valid(\.vending.prefixes) else { return nil }
        var folders = names.map(PrefixOverlaps.folder)
        if case .success(let scopes?) = scopes {
            for name in scopes.names {
                folders += (scopes[name]?.policy.folders ?? [])
                    .filter { folder in !folders.contains { $0.prefix == folder } }
                    .map { AssetPrefix(prefix: $0, setting: "vending.scopes.\(name).template") }
            }
        }
        return folders
    }

    /// Where assets are put and renewed, under each setting that names the place.
    var assetPrefixes: [AssetPrefix] {
        var prefixes: [AssetPrefix] = []
        for key in [\SettingsTable.uploads.keyPrefix, \SettingsTable.renewal.keyPrefix] {
            guard let prefix = values.valid(key) else { continue }
            prefixes.append(AssetPrefix(prefix: prefix, setting: values.path(of: key)))
        }
        for prefix in values.valid(\.renewal.formerPrefixes) ?? [] {
            prefixes.append(AssetPrefix(prefix: prefix, setting: values.path(of: \.renewal.formerPrefixes)))
        }
        return prefixes
    }
}
