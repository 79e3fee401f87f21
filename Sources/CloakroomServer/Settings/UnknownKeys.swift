import CloakroomJSON

/// Finds keys that the table does not have, and what was probably meant.
package struct UnknownKeys {
    let rows: [SettingsRow]
    let pathPrefix: String

    package init(rows: [SettingsRow], pathPrefix: String) {
        self.rows = rows
        self.pathPrefix = pathPrefix
    }

    func faults(in tree: JSON.Object) -> [SettingsError] { faults(in: tree, under: "") }

    private func faults(in object: JSON.Object, under group: String) -> [SettingsError] {
        object.members.flatMap { member -> [SettingsError] in
            let path = group + member.name
            if rows.contains(where: { $0.path.hasSameBytes(as: path) }) { return [] }
            guard rows.contains(where: { $0.path.hasPrefix(path + ".") }) else { return [unknown(path, under: group)] }
            guard let inner = member.value.object else {
                return [SettingsError(pathPrefix + path, "is no object", "give: {\(names(under: path + "."))}")]
            }
            return faults(in: inner, under: path + ".")
        }
    }

    private func unknown(_ path: String, under group: String) -> SettingsError {
        let remedy =
            nearest(to: path).map { "did you mean \(pathPrefix + $0)?" } ?? "known here: \(names(under: group))"
        return SettingsError(pathPrefix + path, "is not a key", remedy)
    }

    /// The key or group with the fewest edits, at most a third of it; or the key of that name in another group.
    package func nearest(to path: String) -> String? {
        let groups = Set(rows.flatMap { Self.groups(of: $0.path) })
        let candidates = (rows.map(\.path) + groups.sorted()).map { ($0, editDistance($0, path)) }
        if let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(1, path.utf8.count / 3), best.1 <= 4 {
            return best.0
        }
        let name = Self.lastName(path)
        return rows.map(\.path).first { editDistance(Self.lastName($0), name) <= 1 }
    }

    /// `limits` and `limits.renew` for `limits.renew.requests`.
    private static func groups(of path: String) -> [String] {
        let names = path.split(separator: ".")
        return names.indices.dropFirst().map { names[..<$0].joined(separator: ".") }
    }

    private static func lastName(_ path: String) -> String { path.split(separator: ".").last.map(String.init) ?? path }

    package func names(under group: String) -> String {
        var names: [String] = []
        for row in rows where row.path.hasPrefix(group) {
            let name = row.path.dropFirst(group.count).prefix { $0 != "." }
            if names.last != String(name) { names.append(String(name)) }
        }
        return names.joined(separator: ", ")
    }
}

/// Levenshtein's distance: how many bytes to insert, delete or replace.
func editDistance(_ left: String, _ right: String) -> Int {
    let right = Array(right.utf8)
    var row = Array(0...right.count)
    for (index, byte) in left.utf8.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in right.indices {
            let replaced = diagonal + (byte == right[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
        }
    }
    return row[right.count]
}
