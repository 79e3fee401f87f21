import CloakroomSQLite
import Foundation
import Testing

struct SQLiteBlobTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    private let database: SQLiteDatabase

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = try SQLiteDatabase(
            at: folder.appendingPathComponent("a.sqlite").path,
            migrations: ["CREATE TABLE item (name TEXT, data BLOB)"])
    }

    @Test func `a value is read in pieces`() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) }
        try database.run("INSERT INTO item VALUES ('a', ?)", [.blob(bytes)])
        let blob = try database.blob(table: "item", column: "data", row: 1)
        #expect(blob.byteCount == bytes.count)
        var read: [UInt8] = []
        while read.count < blob.byteCount { read += try blob.read(at: read.count, count: 4099) }
        #expect(read == bytes)
        #expect(try blob.read(at: bytes.count, count: 1) == [])
        #expect(try blob.read(at: bytes.count + 10, count: 1) == [])
    }

    @Test func `an empty value has no bytes`() throws {
        try database.run("INSERT INTO item VALUES ('a', x'')")
        let blob = try database.blob(table: "item", column: "data", row: 1)
        #expect(try blob.read(at: 0, count: 10) == [])
    }

    @Test func `a row that is not there, and a value without bytes, are errors`() throws {
        try database.run("INSERT INTO item VALUES ('a', NULL)")
        #expect(throws: SQLiteError.self) { _ = try database.blob(table: "item", column: "data", row: 1) }
        #expect(throws: SQLiteError.self) { _ = try database.blob(table: "item", column: "data", row: 2) }
        #expect(throws: SQLiteError.self) { _ = try database.blob(table: "none", column: "data", row: 1) }
        // None of them keeps the database from being written.
        try database.run("DELETE FROM item")
    }

    @Test func `a value that changes while it is read is an error, not a mixture`() throws {
        try database.run("INSERT INTO item VALUES ('a', ?)", [.blob([UInt8](repeating: 1, count: 10_000))])
        let blob = try database.blob(table: "item", column: "data", row: 1)
        _ = try blob.read(at: 0, count: 10)
        try database.run("UPDATE item SET data = ?", [.blob([UInt8](repeating: 2, count: 10_000))])
        #expect(throws: SQLiteError.self) { _ = try blob.read(at: 10, count: 10) }
    }
}
