import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SettingsTableTests {
    @Test func `describes each key once`() {
        let paths = SettingsTable.rows.map(\.path)
        #expect(Set(paths).count == paths.count)
    }

    @Test func `has defaults that it takes itself`() {
        func check(_ rows: [SettingsRow]) {
            for row in rows {
                switch (row.kind, row.fallback) {
                case (.text(let shape), .text(let text)): #expect(shape.accepts(text), "\(row.path)")
                case (.texts(let shape), .texts(let texts)): #expect(texts.allSatisfy(shape.accepts), "\(row.path)")
                case (.integer(let range), .integer(let number)): #expect(range.contains(number), "\(row.path)")
                case (.choice(let names), .text(let name)): #expect(names.contains(name), "\(row.path)")
                case (.objects(let rows), _), (.named(_, let rows), _): check(rows)
                default: break
                }
            }
        }
        check(SettingsTable.rows)
    }

    @Test func `is what the manual shows`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/cloakroom/cloakroom.docc/Settings.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let parts = text.components(separatedBy: "<!-- settings -->")
        try #require(parts.count == 3, "Settings.md has the table between two markers")
        #expect(parts[1].trimmingCharacters(in: .newlines) == SettingsTable.markdown)
    }
}
