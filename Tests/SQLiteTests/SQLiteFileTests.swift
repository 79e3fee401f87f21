import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomSQLite

@Suite struct SQLiteFileTests {
    private let folder = TemporaryFolder()
    private let date = Date(timeIntervalSince1970: 1_795_183_200)

    @Test func `its files are for the user alone, whatever the mask`() throws {
        let database = try SQLiteDatabase(at: folder.path("a.db"), migrations: ["CREATE TABLE t (x)"])
        #expect(folder.names == ["a.db", "a.db-shm", "a.db-wal"])
        for name in folder.names {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
        }
        #expect(try database.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func `a new one that there is no room for fails for want of room`() throws
    {
        // The disk has room for one name, its own folder's.
        let disk = try SmallDisk(byteCount: 1 << 20, maximumFiles: 1)
        defer { disk.unmount() }
        #expect(throws: SQLiteError.full) { try SQLiteDatabase(at: disk.url.appendingPathComponent("a.db").path) }
    }

    @Test(arguments: [(SQLiteSettings.Durability.processEnd, Int64(1)), (.powerFailure, 2)])
    func `waits for the disk as it was told to`(durability: SQLiteSettings.Durability, synchronous: Int64) throws {
        let database = try SQLiteDatabase(at: folder.path("a.db"), settings: SQLiteSettings(durability: durability))
        #expect(try database.first("PRAGMA synchronous") { $0.integer(0) } == synchronous)
    }

    @Test func `migrations run once, in order, each new one on what is there`() throws {
        let first = "CREATE TABLE t (x); INSERT INTO t VALUES (1)"
        for _ in 0..<2 {
            let database = try SQLiteDatabase(at: folder.path("a.db"), migrations: [first])
            #expect(try database.userVersion == 1)
        }
        let database = try SQLiteDatabase(
            at: folder.path("a.db"), migrations: [first, "ALTER TABLE t ADD y DEFAULT 5", "UPDATE t SET y = y + 1"])
        #expect(try database.rows("SELECT x, y FROM t") { [$0.integer(0), $0.integer(1)] } == [[1, 6]])
        #expect(try database.userVersion == 3)
    }

    @Test func `a migration that fails leaves the file as it was`() throws {
        let first = "CREATE TABLE t (x)"
        #expect(throws: SQLiteError.other(code: 1, message: "no such table: missing")) {
            try SQLiteDatabase(at: folder.path("a.db"), migrations: [first, "DELETE FROM t; DELETE FROM missing"])
        }
        let database = try SQLiteDatabase(at: folder.path("a.db"))
        #expect(try database.userVersion == 0)
        #expect(try database.first("SELECT count(*) FROM sqlite_schema") { $0.integer(0) } == 0)
    }

    @Test func `a file with more migrations than are known is refused and stays`() throws {
        _ = try SQLiteDatabase(at: folder.path("a.db"), migrations: ["CREATE TABLE t (x)", "CREATE TABLE u (x)"])
        #expect(throws: SQLiteError.newer(userVersion: 2)) {
            try SQLiteDatabase.openOrReplace(at: folder.path("a.db"), migrations: ["CREATE TABLE t (x)"], on: date)
        }
        #expect(folder.names == ["a.db"])
    }

    @Test func `many may open a new file at the same time`() async throws {
        let path = folder.path("a.db")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let database = try SQLiteDatabase(
                        at: path, settings: SQLiteSettings(busyTimeout: .seconds(60)),
                        migrations: ["CREATE TABLE t (x)"])
                    try database.run("INSERT INTO t VALUES (1)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try SQLiteDatabase(at: path).first("SELECT count(*) FROM t") { $0.integer(0) } == 8)
    }

    @Test(arguments: [
        Data("this is a text, and longer than the header of a database, which has one hundred bytes, \n".utf8)
            + Data(repeating: 1, count: 4096),
        Data(repeating: 255, count: 100),
    ])
    func `a file that is no database is refused, or moved aside for a new one`(content: Data) throws {
        let path = folder.path("a.db")
        try content.write(to: URL(fileURLWithPath: path))
        #expect(throws: SQLiteError.corrupt) { try SQLiteDatabase(at: path) }
        let (database, movedAside) = try SQLiteDatabase.openOrReplace(
            at: path, migrations: ["CREATE TABLE t (x)"], on: date)
        #expect(movedAside == path + ".corrupt-20261120T140000Z")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".corrupt-20261120T140000Z")) == content)
        try database.run("INSERT INTO t VALUES (1)")
        database.close()
        let again = try SQLiteDatabase.openOrReplace(at: path, on: date)
        #expect(again.movedAside == nil)
    }

    @Test func `what is moved aside keeps its log`() throws {
        // As long as it is open the log is not written back.
        let database = try SQLiteDatabase(at: folder.path("a.db"), migrations: ["CREATE TABLE t (x)"])
        try SQLiteDatabase.moveAside(at: folder.path("a.db"), on: date)
        let name = "a.db.corrupt-20261120T140000Z"
        #expect(folder.names == [name, name + "-shm", name + "-wal"])
        database.close()
    }

    @Test func `a folder that is not there cannot be opened in`() {
        #expect(throws: SQLiteError.other(code: 14, message: "unable to open database file")) {
            try SQLiteDatabase(at: folder.path("none/a.db"))
        }
    }
}
