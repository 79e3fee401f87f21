package import CloakroomServer

/// The parents where users have folders, and whether a lifecycle rule can match an object in one of them.
package struct UserFolders: Sendable, Equatable {
    /// Each empty, for the bucket itself, or ending in `/`.
    package let parents: [String]
    /// Path components that are no user's id: where folders are in the bucket itself.
    private let reserved: Set<String>

    /// - Parameters:
    ///   - parents: each empty or ending in `/`; twice is once.
    ///   - reserved: prefixes of other objects, whose first path component no user has as an id.
    package init(_ parents: [String], reserved: [String] = []) {
        var distinct: [String] = []
        for place in parents where !distinct.contains(place) { distinct.append(place) }
        self.parents = distinct
        self.reserved = Set((reserved + distinct).compactMap { Self.firstComponent(of: $0.utf8[...]) })
    }

    /// - Returns: the parents with users' objects that begin with a prefix.
    package func met(by prefix: String) -> [String] {
        parents.filter { place in
            if place.isEmpty { return !(Self.firstComponent(of: prefix.utf8[...]).map(reserved.contains) ?? false) }
            return place.hasPrefix(prefix) || prefix.hasPrefix(place)
        }
    }

    /// Whether a whole key lies in a user's folder; compared byte by byte, as S3 does.
    package func hold(_ key: String) -> Bool {
        parents.contains { place in
            guard key.utf8.starts(with: place.utf8) else { return false }
            guard let component = Self.firstComponent(of: key.utf8.dropFirst(place.utf8.count)) else { return false }
            return !(place.isEmpty && reserved.contains(component))
        }
    }

    /// - Returns: `nil` where no `/` ends it.
    private static func firstComponent(of prefix: Substring.UTF8View) -> String? {
        // Bytes, not characters: a mark that combines with the `/` before it would hide it.
        prefix.firstIndex(of: UInt8(ascii: "/")).map { String(Substring(prefix[..<$0])) }
    }
}

extension Settings {
    /// Of the built-in scopes' prefixes and of the operator's own scopes.
    package var userFolders: UserFolders {
        let own = vending.scopes.names.flatMap { vending.scopes[$0]?.policy.folders ?? [] }
        return UserFolders(
            vending.prefixes.map(Settings.Vending.folder) + own,
            reserved: assetPrefixes.map(\.prefix) + [chatPrefix?.prefix].compactMap(\.self) + ReservedKeys.folders)
    }
}
