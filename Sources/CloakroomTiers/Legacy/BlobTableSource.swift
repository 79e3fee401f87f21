public import CloakroomKit
import CloakroomCrypto
import CloakroomSQLite
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Photos in a table of the app's SQLite database:
/// `blobs (cid TEXT PRIMARY KEY, data BLOB NOT NULL, mime_type, size_bytes, created_at)`; more columns may follow.
///
/// The app may use its database meanwhile: it is put into WAL mode, and no transaction lasts longer than the bytes of
/// one batch are hashed. Rows whose `data` is null or empty, or whose `cid` is no text, stay.
public actor BlobTableSource: LegacyBlobSource {
    private let database: SQLiteDatabase
    private let file: URL
    private let freeBytes: @Sendable (URL) -> Int64?

    private static let name = "the database of photos"
    private static let pieceBytes = 1 << 18
    /// Beside the database while it is compacted, in bytes.
    private static let reserve: Int64 = 16 << 20

    /// - Parameter file: the app's database, which is there.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed`` when it has no such table, or when a trigger
    ///   would change something else with the rows; ``CloakroomError/Code/unreadableFile`` when there is no database.
    public init(_ file: URL) throws(CloakroomError) {
        try self.init(file, freeBytes: { StoreFolder($0.deletingLastPathComponent()).freeBytes })
    }

    /// - Parameter freeBytes: of the disk of a file.
    package init(_ file: URL, freeBytes: @escaping @Sendable (URL) -> Int64?) throws(CloakroomError) {
        guard StoreFolder.status(file.resolvingSymlinksInPath()) != nil else {
            throw CloakroomError(.unreadableFile, "there is no database \(file.lastPathComponent)")
        }
        self.file = file
        self.freeBytes = freeBytes
        database = try Self.perform { () throws(SQLiteError) in
            let database = try SQLiteDatabase(at: file.resolvingSymlinksInPath().path)
            // Rows that refer to these are the app's: they are not to go with them.
            try database.run("PRAGMA foreign_keys = 0")
            // Else each byte that is removed is written once more, as a zero.
            try database.run("PRAGMA secure_delete = FAST")
            return database
        }
        try Self.check(database)
    }

    private static func check(_ database: SQLiteDatabase) throws(CloakroomError) {
        let columns = try perform { () throws(SQLiteError) in
            try database.rows("SELECT name FROM pragma_table_info('blobs')") { $0.text(0) }
        }
        guard Set(columns).isSuperset(of: ["cid", "data", "created_at"]) else {
            throw CloakroomError(.storeFailed, "there is no table blobs with cid, data and created_at")
        }
        let triggers = try perform { () throws(SQLiteError) in
            try database.rows("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'blobs'") {
                $0.text(0)
            }
        }
        guard triggers.isEmpty else {
            throw CloakroomError(.storeFailed, "triggers would run for each row: \(triggers.joined(separator: ", "))")
        }
    }

    public func count() throws(CloakroomError) -> Int {
        try Self.perform { () throws(SQLiteError) in
            try database.first("SELECT count(*) FROM blobs") { Int($0.integer(0)) } ?? 0
        }
    }

    /// In the order in which they were inserted. Their dates are stored after their bytes, so no other order can be read
    /// without reading all of these.
    public func blobs(after position: Int64?, limit: Int) throws(CloakroomError) -> [LegacyBlob] {
        try Self.perform { () throws(SQLiteError) in
            try database.rows(
                "\(Self.select) WHERE rowid > ? ORDER BY rowid LIMIT ?",
                [.integer(position ?? .min), .integer(Int64(limit))]
            ) { Self.blob($0) }
        }
    }

    private static let select = """
        SELECT rowid, cid, typeof(cid), length(data), typeof(data), created_at, typeof(created_at) FROM blobs
        """

    private static func blob(_ row: borrowing SQLiteRow) -> LegacyBlob {
        // A name that is not in UTF-8 would be another one.
        let name = row.text(1)
        let isText = row.text(2) == "text" && Array(name.utf8) == row.blob(1)
        let hasBytes = row.text(4) == "blob" && row.integer(3) > 0
        let date: Date? =
            switch row.text(6) {
            case "integer", "real": LegacyDate.date(row.real(5))
            case "text": LegacyDate.date(row.text(5))
            default: nil
            }
        return LegacyBlob(
            position: row.integer(0), name: isText ? name : nil, createdAt: date,
            byteCount: hasBytes ? row.integer(3) : nil)
    }

    public func write(_ blob: LegacyBlob, to file: URL) throws(CloakroomError) -> [UInt8] {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("make", file) }
        defer { close(descriptor) }
        do throws(CloakroomError) {
            return try read(blob) { piece throws(CloakroomError) in
                try PhotoContent.write(piece[...], to: descriptor, file)
            }
        } catch {
            unlink(file.path)
            throw error
        }
    }

    public func delete(_ blobs: [(blob: LegacyBlob, sha256: [UInt8])]) throws(CloakroomError) {
        try Self.perform { () throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for (blob, sha256) in blobs {
                    // What the app has written meanwhile was not imported.
                    guard let present = try digest(blob), present == sha256 else { continue }
                    try database.run("DELETE FROM blobs WHERE rowid = ?", [.integer(blob.position)])
                }
            }
            // Of a database that gives pages back already; of others it does nothing.
            try database.run("PRAGMA incremental_vacuum")
            try checkpoint()
        }
    }

    public func compact() throws(CloakroomError) -> LegacyCompaction {
        let free = freeBytes(file)
        return try Self.perform { () throws(SQLiteError) in
            let mode = try number("PRAGMA auto_vacuum")
            if mode == 0, try number("PRAGMA freelist_count") > 0 {
                guard try !hasOtherRowids() else { return .pending(neededBytes: 0) }
                // Once into a file of its own, and once into the log.
                let livePages = try number("PRAGMA page_count") - number("PRAGMA freelist_count")
                let needed = try 2 * livePages * number("PRAGMA page_size") + Self.reserve
                if let free, free < needed { return .pending(neededBytes: needed) }
                do throws(SQLiteError) {
                    try database.run("PRAGMA auto_vacuum = 2")
                    try database.run("VACUUM")
                } catch .full {
                    return .pending(neededBytes: needed)
                } catch .busy {
                    return .pending(neededBytes: 0)
                }
            } else {
                try database.run("PRAGMA incremental_vacuum")
            }
            // A reader keeps the file as long as it was.
            return try checkpoint() ? .done : .pending(neededBytes: 0)
        }
    }

    /// Whether VACUUM might give rows of another table new numbers, to which an index for full text or another table may refer:
    /// it keeps those that are a column alone (sqlite.org, VACUUM).
    private func hasOtherRowids() throws(SQLiteError) -> Bool {
        let tables = try database.rows(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name <> 'blobs'"
                + " AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        ) { (name: $0.text(0), sql: $0.text(1)) }
        for table in tables where !table.sql.uppercased().contains("WITHOUT ROWID") {
            let keys = try database.rows("SELECT type FROM pragma_table_info(?) WHERE pk > 0", [.text(table.name)]) {
                $0.text(0)
            }
            if keys.count != 1 || keys[0].uppercased() != "INTEGER" { return true }
        }
        return false
    }

    /// - Returns: whether all of the log is in the database.
    @discardableResult
    private func checkpoint() throws(SQLiteError) -> Bool {
        try database.first("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) == 0 } ?? true
    }

    private func number(_ sql: String) throws(SQLiteError) -> Int64 { try database.first(sql) { $0.integer(0) } ?? 0 }
}

extension BlobTableSource {
    /// Hands over the bytes of a row, from one state of the database.
    ///
    /// - Returns: their SHA-256.
    private func read(
        _ blob: LegacyBlob, _ use: ([UInt8]) throws(CloakroomError) -> Void
    ) throws(CloakroomError) -> [UInt8] {
        try Self.read(try openValue(of: blob), { CloakroomError($0, of: Self.name) }, use)
    }

    /// - Parameter failure: what is thrown for an error of SQLite's.
    private static func read<Failure: Error>(
        _ value: borrowing SQLiteBlob, _ failure: (SQLiteError) -> Failure,
        _ use: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var digest = SHA256()
        var position = 0
        while position < value.byteCount {
            let piece: [UInt8]
            do throws(SQLiteError) { piece = try value.read(at: position, count: pieceBytes) } catch {
                throw failure(error)
            }
            digest.update(piece)
            try use(piece)
            position += piece.count
        }
        return digest.finalize()
    }

    /// - Throws: ``CloakroomError/Code/noSuchPhoto`` when the row is not the one that was listed.
    private func openValue(of blob: LegacyBlob) throws(CloakroomError) -> SQLiteBlob {
        let gone = CloakroomError(.noSuchPhoto, "\(blob.name ?? "a row") is not there any more")
        guard blob.byteCount != nil else { throw gone }
        do throws(SQLiteError) {
            let value = try database.blob(table: "blobs", column: "data", row: blob.position)
            // Rows get other numbers when the app compacts its database. From the opened value on, nothing changes.
            if try present(blob) { return value }
        } catch .other(_, _) {
            throw gone
        } catch {
            throw CloakroomError(error, of: Self.name)
        }
        throw gone
    }

    /// Whether the row is the one that was listed.
    private func present(_ blob: LegacyBlob) throws(SQLiteError) -> Bool {
        try database.first("\(Self.select) WHERE rowid = ?", [.integer(blob.position)]) { Self.blob($0) } == blob
    }

    /// - Returns: `nil` when the row is not the one that was listed.
    private func digest(_ blob: LegacyBlob) throws(SQLiteError) -> [UInt8]? {
        guard blob.byteCount != nil, try present(blob) else { return nil }
        return try Self.read(
            try database.blob(table: "blobs", column: "data", row: blob.position), { $0 },
            { (_: [UInt8]) throws(SQLiteError) in })
    }

    private static func perform<Value>(_ body: () throws(SQLiteError) -> Value) throws(CloakroomError) -> Value {
        do throws(SQLiteError) { return try body() } catch { throw CloakroomError(error, of: name) }
    }
}
