import Foundation
import Testing

@testable import CloakroomSQLite

@Suite struct SQLiteTransactionTests {
    private let folder = TemporaryFolder()

    private func open(busyTimeout: Duration = .zero) throws -> SQLiteDatabase {
        try SQLiteDatabase(
            at: folder.path("a.db"), settings: SQLiteSettings(durability: .processEnd, busyTimeout: busyTimeout),
            migrations: ["CREATE TABLE t (x)"])
    }

    private func count(_ database: SQLiteDatabase) throws(SQLiteError) -> Int64? {
        try database.first("SELECT count(*) FROM t") { $0.integer(0) }
    }

    @Test func `nothing of a transaction that throws is left`() throws {
        let database = try open()
        #expect(throws: SQLiteError.busy) {
            try database.transaction { () throws(SQLiteError) in
                try database.run("INSERT INTO t VALUES (1)")
                throw .busy
            }
        }
        #expect(try count(database) == 0)
        let result = try database.transaction { () throws(SQLiteError) in
            try database.run("INSERT INTO t VALUES (1)")
            return "done"
        }
        #expect(result == "done")
        #expect(try count(database) == 1)
    }

    @Test func `every row that this connection changes is counted, and none of another`() throws {
        let (database, other) = (try open(), try open())
        let first = try #require(database.changeCount)
        try database.run("INSERT INTO t VALUES (1), (2)")
        #expect(database.changeCount == first + 2)
        try other.run("UPDATE t SET x = 3")
        #expect(try count(database) == 2)
        #expect(database.changeCount == first + 2)
        #expect(throws: SQLiteError.busy) {
            try database.transaction { () throws(SQLiteError) in
                try database.run("DELETE FROM t")
                throw .busy
            }
        }
        #expect(database.changeCount == first + 4)
        database.close()
        #expect(database.changeCount == nil)
    }

    @Test func `nothing of a transaction that was interrupted is left`() throws {
        var database: SQLiteDatabase? = try open()
        try database?.run("INSERT INTO t VALUES (1)")
        try database?.run(script: "BEGIN; INSERT INTO t VALUES (2)")
        database = nil
        #expect(try count(open()) == 1)
    }

    @Test func `a database that is full says so, rolls back and goes on`() throws {
        let database = try open()
        try database.run("PRAGMA max_page_count = 8")
        #expect(throws: SQLiteError.full) {
            try database.transaction { () throws(SQLiteError) in
                for _ in 0..<100 { try database.run("INSERT INTO t VALUES (zeroblob(1000))") }
            }
        }
        #expect(try count(database) == 0)
        try database.run("PRAGMA max_page_count = 1000")
        try database.transaction { () throws(SQLiteError) in
            for _ in 0..<100 { try database.run("INSERT INTO t VALUES (zeroblob(1000))") }
        }
        #expect(try count(database) == 100)
    }

    @Test func `a second writer is told that the database is busy, and readers are not`() throws {
        let first = try open()
        let second = try open()
        try first.transaction { () throws(SQLiteError) in
            try first.run("INSERT INTO t VALUES (1)")
            #expect(throws: SQLiteError.busy) {
                try second.transaction { () throws(SQLiteError) in Issue.record("it wrote") }
            }
            #expect(throws: SQLiteError.busy) { try second.run("INSERT INTO t VALUES (2)") }
            let seen = try count(second)
            #expect(seen == 0)
        }
        try second.transaction { () throws(SQLiteError) in try second.run("INSERT INTO t VALUES (2)") }
        #expect(try count(first) == 2)
    }

    @Test func `writers wait for each other as long as they were told to`() async throws {
        _ = try open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let database = try open(busyTimeout: .seconds(60))
                    for number in 0..<50 {
                        try database.transaction { () throws(SQLiteError) in
                            try database.run("INSERT INTO t VALUES (?)", [SQLiteValue(number)])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try count(open()) == 200)
    }

    @Test func `a database that may not be written says so`() throws {
        let database = try open()
        try database.run("PRAGMA query_only = 1")
        #expect(throws: SQLiteError.readOnly) { try database.run("INSERT INTO t VALUES (1)") }
    }

    /// SQLITE_FULL, IOERR_WRITE, IOERR_SHMSIZE, CANTOPEN, BUSY_SNAPSHOT, LOCKED_SHAREDCACHE, CORRUPT_INDEX, NOTADB,
    /// READONLY_DBMOVED, ERROR.
    private static let codes: [(Int32, Int32, SQLiteError)] = [
        (13, 0, .full),
        (778, ENOSPC, .full), (778, EDQUOT, .full), (778, EIO, .other(code: 778, message: "words")),
        (4874, ENOSPC, .full),
        (14, ENOSPC, .full), (14, ENOENT, .other(code: 14, message: "words")),
        (517, 0, .busy), (262, 0, .busy),
        (779, 0, .corrupt), (26, 0, .corrupt),
        (1032, 0, .readOnly),
        (1, 0, .other(code: 1, message: "words")),
    ]

    @Test(arguments: codes)
    func `codes become what a caller can decide`(code: Int32, systemError: Int32, error: SQLiteError) {
        #expect(SQLiteError(code: code, systemError: systemError, message: "words") == error)
    }
}
