import Foundation
import Testing

@testable import CloakroomSQLite

@Suite struct SQLiteErasingTests {
    private let folder = TemporaryFolder()
    private let settings = SQLiteSettings(
        autoVacuum: .incremental, overwritesDeleted: true, keepsTemporariesInMemory: true, busyTimeout: .zero)

    private func pragma(_ name: String, of database: SQLiteDatabase) throws -> Int64? {
        try database.first("PRAGMA \(name)") { $0.integer(0) }
    }

    private func open() throws -> SQLiteDatabase {
        try SQLiteDatabase(at: folder.path("a.db"), settings: settings, migrations: ["CREATE TABLE t (x)"])
    }

    private func logByteCount() throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: folder.path("a.db-wal"))).count
    }

    private func occurrences(of text: String, in names: [String]) throws -> Int {
        try names.reduce(0) { count, name in
            let content = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
            return count + String(decoding: content, as: UTF8.self).components(separatedBy: text).count - 1
        }
    }

    @Test func `reads back what must be set before the log, each time it is opened`() throws {
        for _ in 0..<2 {
            let database = try open()
            #expect(try pragma("secure_delete", of: database) == 1)
            #expect(try pragma("temp_store", of: database) == 2)
            #expect(try pragma("auto_vacuum", of: database) == 2)
            #expect(try pragma("synchronous", of: database) == 2)
            #expect(try database.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
        }
    }

    @Test func `a database that does not overwrite says so, and its temporary tables are where the system has them`()
        throws
    {
        let database = try SQLiteDatabase(
            at: folder.path("a.db"), settings: SQLiteSettings(overwritesDeleted: false))
        #expect(try pragma("temp_store", of: database) == 0)
        #expect(try pragma("secure_delete", of: database) == 0)
    }

    @Test(arguments: [true, false])
    func `what is deleted is in no file after the log was emptied, and only then`(overwrites: Bool) throws {
        let database = try SQLiteDatabase(
            at: folder.path("a.db"), settings: SQLiteSettings(overwritesDeleted: overwrites),
            migrations: ["CREATE TABLE t (x)"])
        try database.transaction { () throws(SQLiteError) in
            for number in 0..<500 { try database.run("INSERT INTO t VALUES (?)", [.text("secret body \(number)")]) }
        }
        #expect(try database.checkpoint(.truncate).isBusy == false)
        try database.run("DELETE FROM t")
        let names = ["a.db", "a.db-wal"]
        #expect(try occurrences(of: "secret body", in: names) >= 500)
        #expect(try database.checkpoint(.truncate) == .init(isBusy: false, logPages: 0, writtenPages: 0))
        #expect(try (occurrences(of: "secret body", in: names) == 0) == overwrites)
        #expect(try logByteCount() == 0)
    }

    @Test func `a checkpoint that a reader keeps from its end says so, and a later one empties the log`() throws {
        let database = try open()
        let reader = try open()
        try database.run("INSERT INTO t VALUES (1)")
        try reader.run(script: "BEGIN; SELECT * FROM t")
        try database.run("INSERT INTO t VALUES (2)")
        let busy = try database.checkpoint(.truncate)
        #expect(busy.isBusy)
        #expect(busy.writtenPages < busy.logPages)
        #expect(try logByteCount() > 0)
        // It is no lock: others write on.
        try database.run("INSERT INTO t VALUES (3)")
        try reader.run(script: "COMMIT")
        #expect(try database.checkpoint(.truncate).isBusy == false)
        #expect(try logByteCount() == 0)
        #expect(try database.first("SELECT count(*) FROM t") { $0.integer(0) } == 3)
    }

    @Test func `a passive checkpoint writes what it can and keeps the log`() throws {
        let database = try open()
        try database.run("INSERT INTO t VALUES (1)")
        let checkpoint = try database.checkpoint(.passive)
        #expect(!checkpoint.isBusy && checkpoint.logPages > 0 && checkpoint.logPages == checkpoint.writtenPages)
        #expect(try logByteCount() > 0)
    }

    @Test func `inside a transaction there is no checkpoint`() throws {
        let database = try open()
        try database.run("INSERT INTO t VALUES (1)")
        #expect(throws: SQLiteError.busy) {
            try database.transaction { () throws(SQLiteError) in
                try database.run("INSERT INTO t VALUES (2)")
                _ = try database.checkpoint(.truncate)
            }
        }
        #expect(try database.first("SELECT count(*) FROM t") { $0.integer(0) } == 1)
        database.close()
        #expect(throws: SQLiteError.self) { try database.checkpoint(.truncate) }
    }
}
