@testable import CloakroomOperations
@testable import CloakroomServer

extension SettingsTable {
    /// The table of the manual's page Settings, between its `settings` markers: one row for each key.
    static var markdown: String {
        let head = ["| Key | Value | Default | |", "| --- | --- | --- | --- |"]
        return (head + wholeRows.map(line)).joined(separator: "\n")
    }

    private static func line(_ row: SettingsRow) -> String {
        let cells = [
            "`\(row.path)`", row.expected, row.standard == "required" ? "required" : "`\(row.standard)`", row.sentence,
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }
}
