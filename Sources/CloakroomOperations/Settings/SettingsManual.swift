import CloakroomServer

/// The manual of the settings file, made from the table: text for terminals, and the page cloakroom.json5(5).
package enum SettingsManual {
    /// Thrown for a key that the table does not have; the description names the nearest.
    package struct UnknownKeyError: Error, CustomStringConvertible {
        package let description: String
    }

    private static let columns = 80
    /// Longer ones are no misspelt keys.
    private static let maximumKeyBytes = 200

    /// All keys as they are typed in a shell, without brackets.
    package static var keys: [String] {
        SettingsTable.wholeRows.map { components($0.path).joined(separator: ".") }
    }

    /// Type, default and meaning of keys, in lines of at most 80 characters.
    ///
    /// - Parameter key: a key, or what several begin with, up to a dot: `limits`. The brackets of an array may be
    ///   missing, and NAME stands for any name. `nil` for all keys.
    package static func text(of key: String?) throws(UnknownKeyError) -> String {
        let rows = SettingsTable.wholeRows
        guard let key else { return rows.map(text).joined(separator: "\n\n") }
        let wanted = components(key)
        let found = rows.filter { row in
            let parts = components(row.path)
            return wanted.count <= parts.count && zip(wanted, parts).allSatisfy { $0 == $1 || $1 == "NAME" }
        }
        guard !found.isEmpty else { throw unknown(key, rows) }
        return found.map(text).joined(separator: "\n\n")
    }

    private static func components(_ key: String) -> [Substring] {
        key.split(separator: ".", omittingEmptySubsequences: false).map { $0.prefix { $0 != "[" } }
    }

    private static func unknown(_ key: String, _ rows: [SettingsRow]) -> UnknownKeyError {
        guard key.utf8.count <= maximumKeyBytes else {
            return UnknownKeyError(description: "no key is that long")
        }
        let known = UnknownKeys(rows: rows, pathPrefix: "")
        return UnknownKeyError(
            description: known.nearest(to: key).map { "there is no key \(key); the nearest is \($0)" }
                ?? "there is no key \(key); keys begin with: \(known.names(under: ""))")
    }

    private static func text(_ row: SettingsRow) -> String {
        let lines =
            row.expected.wrapped(columns: columns, after: "    Type:     ")
            + standard(row).wrapped(columns: columns, after: "    Default:  ")
            + row.sentence.wrapped(columns: columns, after: "    ")
        return ([row.path] + lines).joined(separator: "\n")
    }

    private static func standard(_ row: SettingsRow) -> String {
        if case .required = row.fallback { "none, the key is required" } else { row.standard }
    }

    /// The page in the language of man(7).
    package static func page(version: String) -> String {
        let head = """
            .\\" Made by cloakroom settings --man.
            .TH CLOAKROOM.JSON5 5 "" "cloakroom \(version)" "File Formats"
            .nh
            .ad l
            .SH NAME
            cloakroom.json5 \\- settings of cloakroom
            .SH DESCRIPTION
            The settings file is JSON5: JSON with comments, keys without quotes and commas at the end.
            A dot in a key stands for an object within an object:
            .B limits.renew.requests
            is written
            .BR "{limits: {renew: {requests: 10}}}" .
            Brackets stand for each element of an array, NAME for a name of your own.
            Unknown keys, wrong types and values out of range are refused.
            Secrets are given by where they are found, an environment variable or a file.
            .SH SETTINGS
            """
        let foot = """
            .SH FILES
            .TP
            .I /etc/cloakroom/cloakroom.json5
            where the systemd unit expects it
            .SH SEE ALSO
            .BR cloakroom (1)
            """
        return ([head] + entries(SettingsTable.wholeRows) + [foot]).joined(separator: "\n")
    }

    /// The keys, with a heading before those that begin alike.
    private static func entries(_ rows: [SettingsRow]) -> [String] {
        var group: Substring = ""
        return rows.flatMap { row -> [String] in
            let first = components(row.path)[0]
            let isNew = first != group && row.path.contains(".")
            if isNew { group = first }
            return (isNew ? [".SS \(first)"] : [])
                + [
                    ".TP", "\\fB\(escaped(row.path))\\fP",
                    "\\&" + formatted(row.expected) + "; default: " + formatted(standard(row)),
                    ".br", "\\&" + formatted(row.sentence),
                ]
        }
    }

    /// One line of text, code in bold.
    private static func formatted(_ text: String) -> String {
        let pieces = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map {
            $0.offset.isMultiple(of: 2) ? escaped($0.element) : "\\fB\(escaped($0.element))\\fP"
        }
        return pieces.joined()
    }

    /// As groff_char(7) has what is special to it or not ASCII.
    private static func escaped(_ text: some StringProtocol) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\e"
            case "-": "\\-"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "^": "\\(ha"
            case "~": "\\(ti"
            case _ where scalar.isASCII: String(scalar)
            default:
                "\\[u"
                    + String(repeating: "0", count: max(0, 4 - String(scalar.value, radix: 16).count))
                    + String(scalar.value, radix: 16, uppercase: true) + "]"
            }
        }
        .joined()
    }
}

extension SettingsTable {
    /// Every row with its whole path: `[]` behind an array of objects, `NAME` in place of the operator's names.
    static var wholeRows: [SettingsRow] { rows.flatMap { whole($0, within: "") } }

    private static func whole(_ row: SettingsRow, within pathPrefix: String) -> [SettingsRow] {
        let path = pathPrefix + row.path
        let own = SettingsRow(path, row.kind, row.fallback, row.sentence)
        switch row.kind {
        case .objects(let inner): return [own] + inner.flatMap { whole($0, within: path + "[].") }
        case .named(_, let inner): return [own] + inner.flatMap { whole($0, within: path + ".NAME.") }
        case .text, .integer, .integerOrNull, .flag, .choice, .texts, .textOrReference, .secret, .signingKey,
            .privateKey, .sealingKeys, .releaseKeys, .file:
            return [own]
        }
    }
}
