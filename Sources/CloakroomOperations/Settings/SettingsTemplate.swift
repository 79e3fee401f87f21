import CloakroomServer

/// A complete settings file to begin with: every key of the table with what it is for, either with a value of its own or
/// commented out at its default.
package struct SettingsTemplate {
    private struct Group {
        var names: [String] = []
        var groups: [String: Group] = [:]
        var rows: [String: SettingsRow] = [:]

        mutating func add(_ row: SettingsRow, at path: ArraySlice<Substring>) {
            guard let first = path.first.map({ String($0) }) else { return }
            if !names.contains(first) { names.append(first) }
            if path.count == 1 {
                rows[first] = row
            } else {
                groups[first, default: Group()].add(row, at: path.dropFirst())
            }
        }
    }

    /// JSON5 by the keys' paths.
    private let values: [String: String]

    /// - Precondition: each is a key of the table, and those that are required are among them.
    package init(_ values: [String: String]) {
        let paths = Set(SettingsTable.rows.map(\.path))
        precondition(values.keys.allSatisfy(paths.contains))
        self.values = values
    }

    /// - Parameter head: lines of comment at the beginning.
    package func text(head: [String]) -> String {
        var all = Group()
        for row in SettingsTable.rows { all.add(row, at: row.path.split(separator: ".")[...]) }
        return (head.map { "// \($0)" } + ["{"] + lines(all, indentation: "  ") + ["}"]).joined(separator: "\n") + "\n"
    }

    private func lines(_ group: Group, indentation: String) -> [String] {
        group.names.flatMap { name in
            if let inner = group.groups[name] {
                return ["\(indentation)\(name): {"] + lines(inner, indentation: indentation + "  ")
                    + ["\(indentation)},"]
            }
            return group.rows[name].map { lines($0, name, indentation) } ?? []
        }
    }

    private func lines(_ row: SettingsRow, _ name: String, _ indentation: String) -> [String] {
        let comments = "\(row.sentence) (\(row.expected))".wrapped(columns: 100) + Self.inner(row)
        let member =
            if let value = values[row.path] {
                "\(name): \(value),".split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
            } else {
                ["// \(name): \(row.commented),"]
            }
        return (comments.map { "// \($0)" } + member).map { indentation + $0 }
    }

    private static func inner(_ row: SettingsRow) -> [String] {
        switch row.kind {
        case .objects(let rows), .named(_, let rows):
            "Each has: \(rows.map(\.path).joined(separator: ", "))".wrapped(columns: 100)
        case .text, .integer, .integerOrNull, .flag, .choice, .texts, .textOrReference, .secret, .signingKey,
            .privateKey, .sealingKeys, .releaseKeys, .file:
            []
        }
    }
}

extension SettingsRow {
    /// The default as JSON5.
    fileprivate var commented: String {
        if case .env(let name) = fallback { "{env: \"\(name)\"}" } else { standard }
    }
}
