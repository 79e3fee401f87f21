extension SettingsCheck {
    /// Of settings that name one of Cloakroom's own folders, or a place in one: no client can renew anything there, and
    /// all of it expires.
    ///
    /// A prefix that merely holds such a folder is good: canaries lie below one of `lifecycle.prefixes`.
    var reservedFolderFaults: [SettingsError] {
        Self.reserved(userFolders ?? [], "give users' folders another place, such as photos/")
            + Self.reserved(assetPrefixes, "give another prefix, such as assets/")
            + Self.reserved(chatPrefixes, "give another prefix, such as chats/")
            + Self.reserved(expiringPrefixes, "take it out: what Cloakroom keeps for itself expires without it")
    }

    private var chatPrefixes: [AssetPrefix] {
        values.valid(\.uploads.chatKeyPrefix).map {
            [AssetPrefix(prefix: $0, setting: values.path(of: \.uploads.chatKeyPrefix))]
        } ?? []
    }

    private static func reserved(_ places: [AssetPrefix], _ remedy: String) -> [SettingsError] {
        places.compactMap { place in
            ReservedKeys.folder(around: place.prefix).map { folder in
                SettingsError(
                    place.setting, "has \"\(place.prefix)\", but \(folder) is reserved for Cloakroom's own objects",
                    remedy)
            }
        }
    }

    /// These need not end in `/`.
    private var expiringPrefixes: [AssetPrefix] {
        var prefixes: [AssetPrefix] = []
        if let prefix = values.valid(\.lifecycle.prefix) {
            prefixes.append(AssetPrefix(prefix: prefix, setting: values.path(of: \.lifecycle.prefix)))
        }
        for prefix in values.valid(\.lifecycle.prefixes) ?? [] {
            prefixes.append(AssetPrefix(prefix: prefix, setting: values.path(of: \.lifecycle.prefixes)))
        }
        return prefixes
    }
}
