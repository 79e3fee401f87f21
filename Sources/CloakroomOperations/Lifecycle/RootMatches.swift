package import CloakroomAWS
import CloakroomJSON
package import CloakroomServer

/// What is in the bucket itself, beside assets, that prefixes of a plan match: it would expire as well.
package struct RootMatches: Sendable {
    private struct Match: Sendable {
        var folders: [String] = []
        var moreFolders = 0
        var keys = 0
        /// The first of the keys.
        var example = ""
    }

    private static let maximumShown = 5
    /// Of the names that ``AssetNames`` draws.
    private static let drawnDigits = 32

    private let prefixes: [String]
    /// Places of assets, of users' folders and of Cloakroom's own objects, and folders to keep.
    private let named: [String]
    private let own: OwnObjects
    private var matches: [String: Match] = [:]
    package private(set) var seen = 0

    /// - Parameter kept: other folders that the plan leaves out.
    package init(_ plan: PrefixPlan, _ settings: Settings, keeping kept: [String] = []) {
        prefixes = plan.prefixes
        own = settings.ownObjects
        named =
            settings.assetPrefixes.map(\.prefix) + [settings.chatPrefix?.prefix].compactMap(\.self)
            + settings.userFolders.parents + settings.ownObjects.prefixes + kept
    }

    /// - Parameter page: of a listing of the whole bucket with the delimiter `/`.
    package mutating func add(_ page: ObjectPage) {
        page.folders.forEach { add(folder: $0) }
        page.entries.forEach { add(key: $0.key) }
    }

    mutating func add(folder: String) {
        seen += 1
        guard !named.contains(where: { $0.utf8.starts(with: folder.utf8) }), let prefix = prefix(of: folder) else {
            return
        }
        var match = matches[prefix] ?? Match()
        if match.folders.count < Self.maximumShown { match.folders.append(folder) } else { match.moreFolders += 1 }
        matches[prefix] = match
    }

    mutating func add(key: String) {
        seen += 1
        guard !Self.isDrawn(key), !own.hold(key), let prefix = prefix(of: key) else { return }
        var match = matches[prefix] ?? Match()
        if match.keys == 0 { match.example = key }
        match.keys += 1
        matches[prefix] = match
    }

    package var isEmpty: Bool { matches.isEmpty }

    /// As comments of the settings file, one for each prefix.
    package var lines: [String] {
        guard !isEmpty else { return ["// of what is in the bucket now, only assets are under them: checked"] }
        return prefixes.compactMap { prefix in
            guard let match = matches[prefix] else { return nil }
            // As strings of JSON: a key may have line breaks.
            var parts = match.folders.map { JSON.string($0).text }
            if match.moreFolders > 0 { parts.append("\(match.moreFolders) more folders") }
            if match.keys > 0 {
                parts.append(
                    "\(match.keys) \(match.keys == 1 ? "object" : "objects") with other names than assets', such as "
                        + JSON.string(match.example).text)
            }
            return "// NOT ONLY ASSETS are under \"\(prefix)\": \(parts.joined(separator: ", "))"
        }
    }

    /// None begins with another, so there is one at most.
    private func prefix(of key: String) -> String? { prefixes.first { key.utf8.starts(with: $0.utf8) } }

    /// Whether a key in the bucket itself may be a name that Cloakroom drew: 32 hexadecimal digits or more, with or without
    /// an extension.
    static func isDrawn(_ key: String) -> Bool {
        let stem = key.utf8.prefix { $0 != UInt8(ascii: ".") }
        return stem.count >= Self.drawnDigits && stem.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
}
