import Testing

@testable import CloakroomSQLite

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

    @Test func `a statement can be used again while its own rows are read`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT x FROM n"
        let read = try database.rows(numbers) { outer throws(SQLiteError) in
            [outer.integer(0)] + (try database.rows(numbers) { inner in inner.integer(0) }) + [outer.integer(0)]
        }
        #expect(read == [[1, 1, 2, 3, 1], [2, 1, 2, 3, 2], [3, 1, 2, 3, 3]])
    }

    @Test func `first reads one row and no more`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        #expect(try database.first("SELECT 7 UNION ALL SELECT abs(-9223372036854775808)") { $0.integer(0) } == 7)
        #expect(try database.first("SELECT 7 WHERE 0") { $0.integer(0) } == nil)
    }

    @Test func `says how many rows were changed`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        try database.run(script: "CREATE TABLE t (x INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
        #expect(try database.run("DELETE FROM t WHERE x > ?", [1]) == 2)
        #expect(try database.run("DELETE FROM t WHERE x > ?", [1]) == 0)
        try database.run("INSERT INTO t VALUES (?)", [42])
        #expect(try database.rows("SELECT x FROM t ORDER BY x") { row in row.integer(0) } == [1, 42])
    }

    @Test func `more statements than are kept do no harm`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        for number in 0..<200 { #expect(try database.first("SELECT \(number)") { $0.integer(0) } == Int64(number)) }
    }

    @Test func `an error has SQLite's words and no bound value`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        try database.run("CREATE TABLE t (x TEXT PRIMARY KEY)")
        try database.run("INSERT INTO t VALUES (?)", ["secret"])
        #expect(throws: SQLiteError.other(code: 1555, message: "UNIQUE constraint failed: t.x")) {
            try database.run("INSERT INTO t VALUES (?)", ["secret"])
        }
        #expect(throws: SQLiteError.other(code: 1, message: "near \"SELEC\": syntax error")) {
            try database.run("SELEC 1")
        }
        #expect(try database.first("SELECT count(*) FROM t") { $0.integer(0) } == 1)
    }

    @Test func `a closed database refuses, and can be opened again`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        try database.run("CREATE TABLE t (x)")
        database.close()
        let closed = SQLiteError.other(code: 21, message: "the database is closed")
        #expect(throws: closed) { try database.run("DELETE FROM t") }
        #expect(throws: closed) { try database.run(script: "DELETE FROM t") }
        #expect(throws: closed) { try database.transaction { () throws(SQLiteError) in } }
        #expect(folder.names == ["a.db"])
        let again = try SQLiteDatabase(at: folder.path("a.db"))
        #expect(try again.first("SELECT count(*) FROM t") { $0.integer(0) } == 0)
    }

    @Test func `foreign keys hold`() throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        try database.run(script: "CREATE TABLE a (x PRIMARY KEY); CREATE TABLE b (x REFERENCES a (x))")
        #expect(throws: SQLiteError.other(code: 787, message: "FOREIGN KEY constraint failed")) {
            try database.run("INSERT INTO b VALUES (1)")
        }
    }
}
