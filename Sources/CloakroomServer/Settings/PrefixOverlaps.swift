/// Where users have folders, and where Cloakroom writes or renews for all of them: which user id would own the latter.
///
/// A user owns all that begins with a folder's place, the id and `/`. So no valid id may be the next path component of
/// another prefix below the same place.
struct PrefixOverlaps: Sendable {
    struct Location: Sendable, Equatable {
        let setting: String
        /// Empty, or ending in `/`.
        let prefix: String
    }

    /// A user's folder that holds another prefix.
    struct Overlap: Sendable, Equatable {
        let folder: Location
        let other: Location
        let id: UserID
    }

    /// Where each user has a folder.
    let folders: [Location]
    let others: [Location]

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
                Location(setting: "vending.scopes.\(name).template", prefix: $0)
            }
        }
        self.init(
            folders: Self.distinct(settings.vending.prefixes.map(Self.folder) + own),
            others: Self.distinct(
                [
                    Location(setting: "uploads.keyPrefix", prefix: settings.uploads.keyPrefix),
                    Location(setting: "renewal.keyPrefix", prefix: settings.renewal.keyPrefix),
                ] + settings.renewal.otherPrefixes.map { Location(setting: "renewal.formerPrefixes", prefix: $0) }))
    }

    /// - Parameter name: one of `vending.prefixes`.
    static func folder(_ name: String) -> Location {
        Location(setting: "vending.prefixes", prefix: name.isEmpty ? "" : name + "/")
    }

    /// Each prefix once, under the setting that names it first.
    private static func distinct(_ places: [Location]) -> [Location] {
        places.reduce(into: []) { distinct, place in
            if !distinct.contains(where: { $0.prefix == place.prefix }) { distinct.append(place) }
        }
    }
}

extension SettingsCheck {
    /// Below a folder of their own, no id can be kept from users; ``ReservedUserIDs`` is for the bucket itself.
    var prefixFaults: [SettingsError] {
        guard case .texts(let names)? = values.values["vending.prefixes"] else { return [] }
        var folders = names.map(PrefixOverlaps.folder)
        if let scopes = try? scopesWithoutFault() {
            for name in scopes.names {
                folders += (scopes[name]?.policy.folders ?? [])
                    .filter { folder in !folders.contains { $0.prefix == folder } }
                    .map { PrefixOverlaps.Location(setting: "vending.scopes.\(name).template", prefix: $0) }
            }
        }
        var others = ["uploads.keyPrefix", "renewal.keyPrefix"].compactMap { path in
            text(path).map { PrefixOverlaps.Location(setting: path, prefix: $0) }
        }
        if case .texts(let former)? = values.values["renewal.formerPrefixes"] {
            others += former.map { PrefixOverlaps.Location(setting: "renewal.formerPrefixes", prefix: $0) }
        }
        return PrefixOverlaps(folders: folders, others: others).overlaps.filter { !$0.folder.prefix.isEmpty }.map {
            SettingsError(
                $0.other.setting,
                "is \"\($0.other.prefix)\", which lies in the folder \($0.folder.prefix)\($0.id.text)/ that"
                    + " \($0.folder.setting) gives the user \($0.id.text)",
                "put it beside the users' folders, such as assets/")
        }
    }
}
