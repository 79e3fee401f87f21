/// User ids that no user has, because the user's folder would hold what belongs to others.
package struct ReservedUserIDs: Sendable, Equatable {
    /// What Cloakroom's own objects and invented users begin with: canaries, the doctor's objects, validations.
    static let ownPrefix = "cloakroom-"

    /// With users' folders in the bucket itself: the first path component of other prefixes, and the setting of each.
    package let components: [Component]

    package struct Component: Sendable, Equatable {
        package let id: String
        package let setting: String
    }

    init(components: [Component] = []) { self.components = components }

    func contains(_ user: UserID) -> Bool {
        user.text.hasPrefix(Self.ownPrefix) || components.contains { $0.id == user.text }
    }
}

extension Settings {
    package var reservedUserIDs: ReservedUserIDs { ReservedUserIDs(PrefixOverlaps(self).overlaps) }
}

extension ReservedUserIDs {
    /// - Parameter overlaps: those below the bucket itself reserve an id; all others are faults of the settings.
    init(_ overlaps: [PrefixOverlaps.Overlap]) {
        var components: [Component] = []
        for overlap in overlaps where overlap.folder.prefix.isEmpty {
            guard !components.contains(where: { $0.id == overlap.id.text }) else { continue }
            components.append(Component(id: overlap.id.text, setting: overlap.other.setting))
        }
        self.init(components: components)
    }
}
