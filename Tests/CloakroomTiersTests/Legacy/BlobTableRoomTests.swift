import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import CloakroomTiers
import Foundation
import Testing

/// How a table gives its room back.
@Suite(.serialized) struct BlobTableRoomTests {
    private let table: LegacyTable

    init() throws { table = try LegacyTable() }

    /// - Returns: what the database took before.
    private func empty(_ source: BlobTableSource) async throws -> Int64 {
        let all = try table.insert(60, byteCount: 100_000) { _ in .distantPast }
        let before = LegacyTable.allocatedBytes(in: table.folder)
        for blob in try await source.blobs(after: nil, limit: 100) {
            try await source.delete([(blob, SHA256.hash(try #require(blob.name.flatMap { all[$0] })))])
        }
        return before
    }

    @Test func `a table that was emptied gives its room back, and keeps doing so`() async throws {
        let source = try BlobTableSource(table.file)
        let before = try await empty(source)
        #expect(try await source.compact() == .done)
        #expect(LegacyTable.allocatedBytes(in: table.folder) < before / 20)
        #expect(try table.database.first("SELECT title FROM memory") { $0.text(0) } == "kept")
        // The other connection knows it once it has read.
        #expect(try table.database.first("PRAGMA auto_vacuum") { $0.integer(0) } == 2)
        // Each batch does, from now on.
        let again = try await empty(source)
        #expect(LegacyTable.allocatedBytes(in: table.folder) < again / 20)
        #expect(try await source.compact() == .done)
    }

    /// VACUUM would give the rows of such a table other numbers, to which an index for full text or another table refers.
    @Test(arguments: [
        ("CREATE TABLE notes (title TEXT)", false), ("CREATE TABLE notes (title TEXT PRIMARY KEY)", false),
        ("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)", true),
        ("CREATE TABLE notes (title TEXT PRIMARY KEY) WITHOUT ROWID", true),
    ])
    func `a database whose other rows have no number of their own is left to the app`(sql: String, isCompacted: Bool)
        async throws
    {
        try table.database.run("DROP TABLE memory")
        try table.database.run(sql)
        let source = try BlobTableSource(table.file)
        _ = try await empty(source)
        #expect(try await source.compact() == (isCompacted ? .done : .pending(neededBytes: 0)))
    }

    @Test func `deleting does not write the bytes once more`() async throws {
        let source = try BlobTableSource(table.file)
        let all = try table.insert(60, byteCount: 100_000) { _ in .distantPast }
        let before = LegacyTable.allocatedBytes(in: table.folder)
        let blobs = try await source.blobs(after: nil, limit: 100)
        // A reader keeps the log from being emptied: all that was written is in it.
        let reader = try SQLiteDatabase(at: table.file.path)
        try reader.run("BEGIN")
        _ = try reader.first("SELECT count(*) FROM blobs") { $0.integer(0) }
        try await source.delete(blobs.map { ($0, SHA256.hash(try #require($0.name.flatMap { all[$0] }))) })
        #expect(LegacyTable.allocatedBytes(in: table.folder) - before < 600_000)
    }

    @Test func `without room the table waits, and says how much it needs`() async throws {
        let source = try BlobTableSource(table.file, freeBytes: { _ in 1 << 20 })
        let before = try await empty(source)
        guard case .pending(let needed) = try await source.compact() else {
            Issue.record("it was compacted")
            return
        }
        #expect(needed > 1 << 20)
        #expect(LegacyTable.allocatedBytes(in: table.folder) >= before)
        // With room it does what it was waiting for.
        #expect(try await BlobTableSource(table.file).compact() == .done)
        #expect(LegacyTable.allocatedBytes(in: table.folder) < before / 20)
    }

    @Test func `while another connection reads the table waits`() async throws {
        let source = try BlobTableSource(table.file)
        _ = try await empty(source)
        let reader = try SQLiteDatabase(at: table.file.path)
        try reader.run("BEGIN")
        _ = try reader.first("SELECT count(*) FROM memory") { $0.integer(0) }
        #expect(try await source.compact() == .pending(neededBytes: 0))
        try reader.run("COMMIT")
        #expect(try await source.compact() == .done)
        #expect(LegacyTable.allocatedBytes(in: table.folder) < 1 << 20)
    }
}
