extension SettingsTable {
    /// The table of the manual's page Settings, between its `settings` markers: one row for each key.
    package static var markdown: String {
        let head = ["| Key | Value | Default | |", "| --- | --- | --- | --- |"]
        return (head + rows.flatMap { lines($0, within: "") }).joined(separator: "\n")
    }

    private static func lines(_ row: SettingsRow, within place: String) -> [String] {
        let path = place + row.path
        let cells = [
            "`\(path)`", row.expected, row.standard == "required" ? "required" : "`\(row.standard)`", row.sentence,
        ]
        let line = "| " + cells.joined(separator: " | ") + " |"
        switch row.kind {
        case .objects(let inner): return [line] + inner.flatMap { lines($0, within: path + "[].") }
        case .named(_, let inner): return [line] + inner.flatMap { lines($0, within: path + ".NAME.") }
        case .text, .integer, .flag, .choice, .texts, .textOrReference, .secret, .signingKey, .privateKey, .sealingKeys,
            .file:
            return [line]
        }
    }
}
