package import CloakroomAWS
import CloakroomSQLite
public import Foundation

/// Which photos of a source are stored, and up to where its changes were.
///
/// A damaged file is moved aside and begun anew: then the source is walked once more, and what S3 has is not sent again.
public actor SourceJournal {
    private var file: RecordsFile

    /// - Parameters:
    ///   - file: in a folder that exists; two more come beside it, `-wal` and `-shm`.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner) throws {
        try self.init(at: file, owner: owner, runtime: RuntimeDependencies())
    }

    package init(
        at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside, runtime: RuntimeDependencies
    ) throws {
        self.file = try RecordsFile(
            Self.kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: runtime.wallClock)
    }

    func token() throws(CloakroomError) -> Data? {
        try file.perform { database throws(SQLiteError) in
            try database.first("SELECT token FROM source") { Data($0.blob(0)) }
        }
    }

    /// Everything up to this token is stored, but for the failures.
    ///
    /// - Parameter token: `nil` removes it.
    func saveToken(_ token: Data?) throws(CloakroomError) {
        _ = try file.perform { database throws(SQLiteError) in
            if let token {
                try database.run("INSERT OR REPLACE INTO source (id, token) VALUES (1, ?)", [.blob(Array(token))])
            } else {
                try database.run("DELETE FROM source")
            }
        }
    }

    /// Photos that could not be stored, and that the source may not name again; first those that were attempted longest ago.
    func failures() throws(CloakroomError) -> [SourcePhoto] {
        try file.perform { database throws(SQLiteError) in
            try database.rows("SELECT id, version, name FROM failure ORDER BY attempt, id", read: Self.photo)
        }
    }

    /// Notes which photo is being exported, in place of the last one: the export may end the process.
    func beginExport(of photo: SourcePhoto) throws(CloakroomError) {
        try file.perform { database throws(SQLiteError) in
            try database.run(
                "INSERT OR REPLACE INTO export (id, photo, version, name) VALUES (1, ?, ?, ?)",
                [.text(photo.id), .text(photo.version), .text(photo.fileName)])
        }
    }

    /// Nothing is being exported any more.
    func endExport() throws(CloakroomError) {
        try file.perform { database throws(SQLiteError) in try database.run("DELETE FROM export") }
    }

    /// Counts what was being exported when the process ended as failed.
    func failUnendedExport() throws(CloakroomError) {
        let photo = try file.perform { database throws(SQLiteError) in
            try database.first("SELECT photo, version, name FROM export", read: Self.photo)
        }
        if let photo { try save(stored: [], gone: [], failed: [photo]) }
    }

    private static func photo(_ row: borrowing SQLiteRow) -> SourcePhoto {
        SourcePhoto(id: row.text(0), version: row.text(1), fileName: row.text(2))
    }

    func isStored(_ photo: SourcePhoto) throws(CloakroomError) -> Bool {
        try file.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT 1 FROM photo WHERE id = ? AND version = ?", [.text(photo.id), .text(photo.version)]
            ) { _ in true } ?? false
        }
    }

    /// Nothing is being exported any more, either.
    ///
    /// - Parameters:
    ///   - stored: they are, in S3.
    ///   - gone: the source has them no more.
    ///   - failed: they are to be attempted again.
    func save(stored: [SourcePhoto], gone: [SourcePhoto], failed: [SourcePhoto]) throws(CloakroomError) {
        guard !(stored.isEmpty && gone.isEmpty && failed.isEmpty) else { return }
        try file.perform { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for photo in stored {
                    try database.run(
                        "INSERT OR REPLACE INTO photo (id, version) VALUES (?, ?)",
                        [.text(photo.id), .text(photo.version)])
                }
                for photo in stored + gone { try database.run("DELETE FROM failure WHERE id = ?", [.text(photo.id)]) }
                for photo in failed {
                    try database.run(
                        """
                        INSERT OR REPLACE INTO failure (id, version, name, attempt)
                        VALUES (?, ?, ?, (SELECT ifnull(max(attempt), 0) + 1 FROM failure))
                        """,
                        [.text(photo.id), .text(photo.version), .text(photo.fileName)])
                }
                try database.run("DELETE FROM export")
            }
        }
    }

    private static let kind = RecordsFile.Kind(
        name: "the journal of a photo source",
        migrations: [
            """
            CREATE TABLE photo (id TEXT NOT NULL PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE failure (id TEXT NOT NULL PRIMARY KEY, version TEXT NOT NULL, name TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE source (id INTEGER PRIMARY KEY CHECK (id = 1), token BLOB NOT NULL);
            """,
            RecordsFile.ownerTable,
            // Counts up with each that fails.
            "ALTER TABLE failure ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0",
            """
            CREATE TABLE export (id INTEGER PRIMARY KEY CHECK (id = 1), photo TEXT NOT NULL, version TEXT NOT NULL,
                name TEXT NOT NULL)
            """,
        ],
        tables: ["photo", "failure", "source", "export"])
}
