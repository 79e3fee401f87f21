import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct BlobTableSourceTests {
    private let table: LegacyTable

    init() throws { table = try LegacyTable() }

    private func write(
        _ blob: LegacyBlob, from source: BlobTableSource
    ) async throws -> (bytes: Data, sha256: [UInt8]) {
        let file = table.folder.appendingPathComponent(UUID().uuidString)
        let sha256 = try await source.write(blob, to: file)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        return (try Data(contentsOf: file), sha256)
    }

    @Test func `rows come in pages, in the order of their insertion, with their dates`() async throws {
        let dates = [300.0, 100, 200].map { Date(timeIntervalSince1970: 1_735_689_600 + $0) }
        for (number, date) in dates.enumerated() { try table.insert("p\(number)", Data([UInt8(number), 1, 2]), date) }
        let source = try BlobTableSource(table.file)
        #expect(try await source.count() == 3)
        let first = try await source.blobs(after: nil, limit: 2)
        #expect(first.map(\.name) == ["p0", "p1"])
        #expect(first.map(\.createdAt) == [dates[0], dates[1]])
        #expect(first.map(\.byteCount) == [3, 3])
        let second = try await source.blobs(after: first.last?.position, limit: 2)
        #expect(second.map(\.name) == ["p2"])
        #expect(try await source.blobs(after: second.last?.position, limit: 2) == [])
    }

    @Test func `dates are read as numbers and as texts`() async throws {
        for (number, date) in [
            SQLiteValue.integer(1_735_689_600), .real(1_735_689_600_000), .text("2025-01-01 00:00:00.000"),
        ].enumerated() {
            // A column of type REAL keeps a text that is no number.
            try table.insert(.text("p\(number)"), .blob([1]), date)
        }
        try table.insert("none", .blob([1]), .null)
        let blobs = try await BlobTableSource(table.file).blobs(after: nil, limit: 9)
        let expected = Date(timeIntervalSince1970: 1_735_689_600)
        #expect(blobs.map(\.createdAt) == [expected, expected, expected, nil])
    }

    @Test(arguments: [1, 4096, 1 << 18, 3_000_001])
    func `the bytes of a row arrive exactly, with their digest`(count: Int) async throws {
        let bytes = StoreFixture.bytes("photo", count: count)
        try table.insert("photo", bytes, .now)
        let source = try BlobTableSource(table.file)
        let blob = try #require(try await source.blobs(after: nil, limit: 1).first)
        let written = try await write(blob, from: source)
        #expect(written.bytes == bytes)
        #expect(written.sha256 == SHA256.hash(bytes))
    }

    @Test func `a row that was written again is not deleted, and not read under its old number`() async throws {
        try table.insert("a", Data([1, 2, 3]), .distantPast)
        try table.insert("b", Data([4, 5, 6]), .distantPast)
        let source = try BlobTableSource(table.file)
        let blobs = try await source.blobs(after: nil, limit: 9)
        let digests = try await [write(blobs[0], from: source).sha256, write(blobs[1], from: source).sha256]
        // The same number, name, size and date: only the bytes tell.
        try table.database.run("UPDATE blobs SET data = ? WHERE cid = 'b'", [.blob([4, 5, 7])])
        try await source.delete([(blobs[0], digests[0]), (blobs[1], digests[1])])
        #expect(try table.names == ["b"])
        // Compacting gives other numbers.
        try table.insert("c", Data([7, 8, 9]), .distantPast)
        try table.database.run("UPDATE blobs SET rowid = rowid - 1")
        let error = await #expect(throws: CloakroomError.self) { _ = try await write(blobs[1], from: source) }
        #expect(error?.code == .noSuchPhoto)
        try await source.delete([(blobs[1], digests[1])])
        #expect(try table.names == ["b", "c"])
    }

    @Test func `names of other case are other names, and those that are no texts are none`() async throws {
        for name in ["Photo", "photo", "PHOTO"] { try table.insert(name, Data([1]), .now) }
        try table.insert(.null, .blob([1]), .null)
        try table.database.run("INSERT INTO blobs (cid, data) VALUES (x'ff', x'01')")
        try table.database.run("INSERT INTO blobs (cid, data) VALUES (CAST(x'ff61' AS TEXT), x'01')")
        let blobs = try await BlobTableSource(table.file).blobs(after: nil, limit: 9)
        #expect(blobs.map(\.name) == ["Photo", "photo", "PHOTO", nil, nil, nil])
    }

    @Test func `a row without bytes has none, and stays`() async throws {
        let table = try LegacyTable(
            schema: "CREATE TABLE blobs (cid TEXT PRIMARY KEY, data BLOB, mime_type, size_bytes, created_at)")
        try table.insert("null", .null, .null)
        try table.insert("empty", .blob([]), .null)
        try table.insert("text", .text("bytes"), .null)
        let source = try BlobTableSource(table.file)
        let blobs = try await source.blobs(after: nil, limit: 9)
        #expect(blobs.map(\.byteCount) == [nil, nil, nil])
        let file = table.folder.appendingPathComponent("photo")
        for blob in blobs {
            await #expect(throws: CloakroomError.self) { _ = try await source.write(blob, to: file) }
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try await source.delete(blobs.map { ($0, SHA256.hash([UInt8]())) })
        #expect(try await source.count() == 3)
    }

    @Test func `rows of other tables that refer to a photo stay`() async throws {
        let table = try LegacyTable(
            schema: LegacyTable.schema
                + "CREATE TABLE image (id INTEGER PRIMARY KEY, cid TEXT REFERENCES blobs ON DELETE CASCADE);")
        try table.insert("a", Data([1]), .now)
        try table.database.run("INSERT INTO image (cid) VALUES ('a')")
        let source = try BlobTableSource(table.file)
        let blob = try #require(try await source.blobs(after: nil, limit: 1).first)
        try await source.delete([(blob, SHA256.hash([1]))])
        #expect(try table.names == [])
        #expect(try table.database.first("SELECT count(*) FROM image") { $0.integer(0) } == 1)
    }

    @Test(arguments: [
        "CREATE TABLE other (id)", "CREATE TABLE blobs (cid TEXT PRIMARY KEY, data BLOB)",
        LegacyTable.schema + "CREATE TRIGGER gone AFTER DELETE ON blobs BEGIN DELETE FROM memory; END;",
    ])
    func `a database of another kind is refused, and left as it is`(schema: String) throws {
        let table = try LegacyTable(schema: schema)
        let error = #expect(throws: CloakroomError.self) { _ = try BlobTableSource(table.file) }
        #expect(error?.code == .storeFailed)
    }

    @Test func `where there is no database none is made`() {
        let file = table.folder.appendingPathComponent("absent.sqlite")
        let error = #expect(throws: CloakroomError.self) { _ = try BlobTableSource(file) }
        #expect(error?.code == .unreadableFile)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }
}
