package import CloakroomServer

/// Lifecycle prefixes for the asset places of a deployment that meet no user's folder.
///
/// S3 rules cannot leave anything out. Where assets are in the bucket itself, beside users' folders, their names are
/// covered by hexadecimal digits: one prefix a digit, split where a folder begins alike.
package struct PrefixPlan: Sendable, Equatable {
    package enum Refusal: Error, Equatable {
        /// A place that lies in users' folders, or has them within; empty for the bucket itself.
        case overlapsFolders(place: String, folders: [String])
        /// A place, other than the bucket itself, that holds a folder to keep, or lies in it.
        case overlapsKept(place: String, kept: String)
    }

    /// Each once, and none begins with another.
    package let prefixes: [String]
    /// How many digits a name in the bucket itself must have at least to be under one of them.
    package let shortestName: Int

    /// - Parameter kept: other folders of the bucket that no prefix is to match; each ends in `/`.
    package init(_ settings: Settings, keeping kept: [String] = []) throws(Refusal) {
        try self.init(places: settings.assetPrefixes.map(\.prefix), users: settings.userFolders, keeping: kept)
    }

    /// - Parameter places: each empty or ending in `/`.
    init(places: [String], users: UserFolders, keeping kept: [String] = []) throws(Refusal) {
        let folders = places.filter { place in
            !place.isEmpty && !places.contains { !$0.isEmpty && $0 != place && place.hasPrefix($0) }
        }
        for place in folders where !users.met(by: place).isEmpty {
            throw .overlapsFolders(place: place, folders: users.met(by: place))
        }
        for place in folders {
            guard let met = kept.first(where: { Self.meet($0, place) }) else { continue }
            throw .overlapsKept(place: place, kept: met)
        }
        guard places.contains("") else {
            prefixes = folders
            shortestName = 0
            return
        }
        guard !users.parents.contains("") else { throw .overlapsFolders(place: "", folders: [""]) }
        let names = Self.split("", around: users.parents + folders + kept)
        prefixes = folders + names
        shortestName = names.map(\.count).max() ?? 0
    }

    private static func split(_ prefix: String, around folders: [String]) -> [String] {
        // One that is no longer than the prefix cannot begin with it: its last character is a slash.
        guard folders.contains(where: { $0.utf8.starts(with: prefix.utf8) }) || prefix.isEmpty else { return [prefix] }
        return "0123456789abcdef".flatMap { split("\(prefix)\($0)", around: folders) }
    }

    /// Whether one begins with the other; compared byte by byte, as S3 does.
    private static func meet(_ left: String, _ right: String) -> Bool {
        left.utf8.starts(with: right.utf8) || right.utf8.starts(with: left.utf8)
    }

    /// As it stands in the settings file, with the proof as comments.
    ///
    /// - Parameter kept: as the plan was made with.
    package func text(_ users: UserFolders, keeping kept: [String] = []) -> String {
        let list = prefixes.map { "\"\($0)\"" }.joined(separator: ", ")
        var lines = ["lifecycle: {prefixes: [\(list)]},"]
        if shortestName > 0 {
            lines.append(
                "// each name in the bucket itself of \(shortestName) hexadecimal digits or more is under exactly one: "
                    + (isComplete ? "checked" : "NOT SO"))
        }
        for place in users.parents {
            let met = prefixes.filter { users.met(by: $0).contains(place) }
            lines.append(
                "// \(place)USER/ is under none of the \(prefixes.count): "
                    + (met.isEmpty ? "checked" : "NOT SO, \(LifecycleCoverage.list(met))"))
        }
        for folder in kept {
            let met = prefixes.filter { Self.meet($0, folder) }
            lines.append(
                "// \(folder) is under none of the \(prefixes.count): "
                    + (met.isEmpty ? "checked" : "NOT SO, \(LifecycleCoverage.list(met))"))
        }
        return lines.joined(separator: "\n")
    }

    /// Held against the rules that `lifecycle apply` and `verify` go by, not against how the list was made.
    private var isComplete: Bool { LifecycleCoverage(prefixes).covers("") }
}
