public import Foundation
import CloakroomSQLite

/// A journal of multipart uploads in a SQLite file, readable by its user alone.
public actor SQLiteMultipartJournal: MultipartJournal {
    private var file: RecordsFile

    private static let columns = "bucket, key, upload_id, part_size, byte_count, modified"
    private static let kind = RecordsFile.Kind(
        name: "the records of uploads",
        migrations: [
            """
            CREATE TABLE uploads (
                bucket TEXT NOT NULL, key TEXT NOT NULL, upload_id TEXT NOT NULL, part_size INTEGER NOT NULL,
                byte_count INTEGER NOT NULL, modified INTEGER NOT NULL, PRIMARY KEY (bucket, key)
            ) WITHOUT ROWID
            """,
            RecordsFile.ownerTable,
        ],
        tables: ["uploads"])

    /// - Parameters:
    ///   - file: made when it is not there, in a folder that exists. A damaged one is renamed and a new one begun: uploads
    ///     then begin anew.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    ///   - unnamedRecords: what becomes of those that an earlier version of the kit left in the file.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside) throws {
        self.file = try RecordsFile(
            Self.kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: { Date() })
    }

    public func upload(of key: String, in bucket: String) throws -> MultipartUpload? {
        try file.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT \(Self.columns) FROM uploads WHERE bucket = ? AND key = ?", [.text(bucket), .text(key)]
            ) { MultipartUpload($0) }
        }
    }

    public func save(_ upload: MultipartUpload) throws {
        try file.perform { database throws(SQLiteError) in
            try database.run(
                "REPLACE INTO uploads (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .text(upload.bucket), .text(upload.key), .text(upload.uploadID), SQLiteValue(upload.partSize),
                    .integer(upload.file.byteCount), .integer(upload.file.modified),
                ])
        }
    }

    public func remove(_ upload: MultipartUpload) throws {
        try file.perform { database throws(SQLiteError) in
            // Not one that was begun after it.
            try database.run(
                "DELETE FROM uploads WHERE bucket = ? AND key = ? AND upload_id = ?",
                [.text(upload.bucket), .text(upload.key), .text(upload.uploadID)])
        }
    }

    public func uploads() throws -> [MultipartUpload] {
        try file.perform { database throws(SQLiteError) in
            try database.rows("SELECT \(Self.columns) FROM uploads ORDER BY bucket, key") { MultipartUpload($0) }
        }
    }
}

extension MultipartUpload {
    /// In the order of the journal's columns.
    fileprivate init(_ row: borrowing SQLiteRow) {
        self.init(
            bucket: row.text(0), key: row.text(1), uploadID: row.text(2), partSize: Int(row.integer(3)),
            file: FileVersion(byteCount: row.integer(4), modified: row.integer(5)))
    }
}
