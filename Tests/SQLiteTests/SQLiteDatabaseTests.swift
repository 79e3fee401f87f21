import Testing

@testable import SQLite

@Suite struct SQLiteDatabaseTests {
    @Test func `gives back what was bound`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        try database.run("CREATE TABLE things (value)")
        let values: [SQLiteValue] = [
            nil, 7, 0.5, "", "naïve \u{0} text", .blob([]), .blob([0, 255]), .integer(.min), SQLiteValue(String?.none),
        ]
        for value in values { try database.run("INSERT INTO things VALUES (?)", [value]) }
        let read = try database.rows("SELECT value, typeof(value) FROM things ORDER BY rowid") { row -> SQLiteValue in
            switch row.text(1) {
            case "integer": .integer(row.integer(0))
            case "real": .real(row.real(0))
            case "text": .text(row.text(0))
            case "blob": .blob(row.blob(0))
            default: row.isNull(0) ? .null : "not null"
            }
        }
        #expect(read == values)
    }
}
