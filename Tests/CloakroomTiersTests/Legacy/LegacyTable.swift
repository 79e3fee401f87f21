import CloakroomKit
import CloakroomSQLite
import CloakroomTiers
import Foundation

/// The app's database as it was before there were tiers.
final class LegacyTable {
    let folder: URL
    let file: URL
    private(set) var database: SQLiteDatabase

    /// - Parameter folder: made for it; removed with this object when `nil` is given.
    init(in folder: URL? = nil, schema: String = LegacyTable.schema) throws {
        let own = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-legacy-\(UUID().uuidString)")
        self.folder = folder ?? own
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        file = self.folder.appendingPathComponent("app.sqlite")
        database = try SQLiteDatabase(
            at: file.path, settings: SQLiteSettings(durability: .processEnd), migrations: [schema])
    }

    deinit {
        database.close()
        if folder.lastPathComponent.hasPrefix("cloakroom-legacy-") { try? FileManager.default.removeItem(at: folder) }
    }

    static let schema = """
        CREATE TABLE blobs (
            cid TEXT PRIMARY KEY, data BLOB NOT NULL, mime_type TEXT, size_bytes INTEGER, created_at REAL);
        CREATE TABLE memory (id INTEGER PRIMARY KEY, title TEXT);
        INSERT INTO memory VALUES (1, 'kept');
        """

    func insert(_ name: String, _ bytes: Data, _ date: Date) throws {
        try insert(.text(name), .blob(Array(bytes)), .real(date.timeIntervalSince1970))
    }

    func insert(_ name: SQLiteValue, _ bytes: SQLiteValue, _ date: SQLiteValue) throws {
        try database.run(
            "INSERT INTO blobs (cid, data, mime_type, size_bytes, created_at) VALUES (?, ?, 'image/jpeg', 1, ?)",
            [name, bytes, date])
    }

    /// Many at once.
    func insert(_ count: Int, byteCount: Int, date: (Int) -> Date) throws -> [String: Data] {
        var all: [String: Data] = [:]
        try database.transaction { () throws(SQLiteError) in
            for number in 0..<count {
                let name = "photo-\(number)"
                let bytes = StoreFixture.bytes(name, count: byteCount)
                all[name] = bytes
                try database.run(
                    "INSERT INTO blobs (cid, data, created_at) VALUES (?, ?, ?)",
                    [.text(name), .blob(Array(bytes)), .real(date(number).timeIntervalSince1970)])
            }
        }
        try database.forEach("PRAGMA wal_checkpoint(TRUNCATE)") { _ in true }
        return all
    }

    var names: [String] { get throws { try database.rows("SELECT cid FROM blobs ORDER BY rowid") { $0.text(0) } } }

    func bytes(_ name: String) throws -> Data? {
        try database.first("SELECT data FROM blobs WHERE cid = ?", [.text(name)]) { Data($0.blob(0)) }
    }

    /// What a folder takes of the disk, in bytes; file systems count in blocks.
    static func allocatedBytes(in folder: URL) -> Int64 {
        let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return files.reduce(0) { sum, name in
            var status = stat()
            guard lstat(folder.appendingPathComponent(name).path, &status) == 0 else { return sum }
            return sum + Int64(status.st_blocks) * 512
        }
    }
}
