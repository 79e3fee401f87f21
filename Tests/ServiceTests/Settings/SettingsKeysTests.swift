import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// Settings files outlive versions: no key, value or default changes unnoticed. `CLOAKROOM_RECORD=1` writes the file anew.
@Suite struct SettingsKeysTests {
    @Test func `keys, values and defaults are those that are recorded`() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let path = tests.appendingPathComponent("Recorded/settings.txt").path
        let found = SettingsTable.markdown.split(separator: "\n").map { row in
            row.split(separator: "|").dropLast().joined(separator: "|")
        }
        if ProcessInfo.processInfo.environment["CLOAKROOM_RECORD"] != nil {
            try (found.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        }
        let recorded = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(found.difference(from: recorded).isEmpty, "\(found.difference(from: recorded))")
    }
}
