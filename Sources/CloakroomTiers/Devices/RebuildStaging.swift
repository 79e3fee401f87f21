import CloakroomKit
import CloakroomSQLite

/// What a rebuild has read, in temporary tables: a library of any size takes no more memory than a small one.
struct RebuildStaging {
    /// Rows of one transaction.
    static let page = 1_000

    let catalog: Catalog
    let device: DeviceID

    func begin() throws(CloakroomError) {
        try end()
        try catalog.perform { database throws(SQLiteError) in
            try database.run(
                script: """
                    CREATE TEMP TABLE named_photo (
                        photo BLOB NOT NULL, device TEXT NOT NULL, sequence INTEGER NOT NULL, is_dismissed INTEGER NOT NULL,
                        sha256 BLOB, md5 BLOB NOT NULL, byte_count INTEGER NOT NULL, format TEXT NOT NULL,
                        taken_at INTEGER NOT NULL, added_at INTEGER NOT NULL, pinned INTEGER NOT NULL,
                        PRIMARY KEY (photo, device)) WITHOUT ROWID;
                    CREATE TEMP TABLE named_name (
                        photo BLOB NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL,
                        PRIMARY KEY (photo, device, name)) WITHOUT ROWID;
                    CREATE INDEX temp.named_by_name ON named_name (name);
                    CREATE TEMP TABLE listed_object (
                        md5 BLOB PRIMARY KEY, key TEXT NOT NULL, byte_count INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE TEMP TABLE announced_photo (md5 BLOB PRIMARY KEY) WITHOUT ROWID;
                    """)
        }
    }

    func end() throws(CloakroomError) {
        try catalog.perform { database throws(SQLiteError) in
            try database.run(
                script: """
                    DROP TABLE IF EXISTS temp.named_photo; DROP TABLE IF EXISTS temp.named_name;
                    DROP TABLE IF EXISTS temp.listed_object; DROP TABLE IF EXISTS temp.announced_photo;
                    """)
        }
    }

    /// - Parameter sequence: higher than that of the device's documents before.
    func add(
        _ document: SnapshotDocument, of device: DeviceID, isDismissed: Bool, sequence: Int64
    ) throws(CloakroomError) {
        let named = SQLiteValue.text(device.rawValue)
        try catalog.transaction { database throws(SQLiteError) in
            for photo in document.removed {
                try database.run("DELETE FROM named_photo WHERE photo = ? AND device = ?", [.blob(photo), named])
                try database.run("DELETE FROM named_name WHERE photo = ? AND device = ?", [.blob(photo), named])
            }
            for entry in document.entries {
                let photo = SQLiteValue.blob(entry.photo)
                try database.run(
                    "INSERT OR REPLACE INTO named_photo VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        photo, named, .integer(sequence), .integer(isDismissed ? 1 : 0), SQLiteValue(entry.sha256),
                        .blob(entry.md5), .integer(entry.byteCount), .text(entry.format), .integer(entry.takenAt),
                        .integer(entry.addedAt), .integer(entry.isPinned ? 1 : 0),
                    ])
                try database.run("DELETE FROM named_name WHERE photo = ? AND device = ?", [photo, named])
                for name in entry.names {
                    try database.run("INSERT OR IGNORE INTO named_name VALUES (?, ?, ?)", [photo, named, .text(name)])
                }
            }
        }
    }

    func add(_ intent: IntentDocument) throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            for md5 in intent.photos {
                try database.run("INSERT OR IGNORE INTO announced_photo VALUES (?)", [.blob(md5)])
            }
        }
    }

    func add(_ objects: [ColdObject]) throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            for object in objects {
                try database.run(
                    "INSERT OR REPLACE INTO listed_object VALUES (?, ?, ?)",
                    [.blob(object.md5), .text(object.key), .integer(object.byteCount)])
            }
        }
    }

    /// Leaves out what the user removed on this device and its documents do not say yet, and what only devices name that
    /// were given up and the tier does not have. A name that photos of different bytes have goes to the one that was
    /// published last.
    ///
    /// - Returns: how many photos lost a name so.
    func finish() throws(CloakroomError) -> Int {
        try catalog.transaction { database throws(SQLiteError) in
            try database.run(
                "DELETE FROM named_photo WHERE device = ? AND photo IN (SELECT photo FROM removal)",
                [.text(device.rawValue)])
            try database.run("DELETE FROM named_photo WHERE md5 IN (SELECT md5 FROM tombstone)")
            try database.run(
                """
                DELETE FROM named_photo WHERE is_dismissed AND md5 NOT IN (SELECT md5 FROM listed_object)
                    AND photo NOT IN (SELECT photo FROM named_photo WHERE NOT is_dismissed)
                """)
            return try database.run(
                """
                DELETE FROM named_name WHERE EXISTS (
                    SELECT 1 FROM named_name AS other
                        JOIN named_photo AS its ON its.photo = other.photo AND its.device = other.device
                        JOIN named_photo AS own ON own.photo = named_name.photo AND own.device = named_name.device
                    WHERE other.name = named_name.name AND other.photo <> named_name.photo
                        AND (its.sequence, its.device) > (own.sequence, own.device))
                """)
        }
    }

    func photos(after last: [UInt8]) throws(CloakroomError) -> [[UInt8]] {
        try catalog.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT DISTINCT photo FROM named_photo WHERE photo > ? ORDER BY photo LIMIT \(Self.page)",
                [.blob(last)]
            ) { row in row.blob(0) }
        }
    }

    /// Objects that no row is of, and that no device has announced to delete.
    func unnamedObjects(after last: [UInt8]) throws(CloakroomError) -> [ColdObject] {
        try catalog.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT md5, key, byte_count FROM listed_object WHERE md5 > ?
                    AND NOT EXISTS (SELECT 1 FROM photo WHERE photo.md5 = listed_object.md5)
                    AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.md5 = listed_object.md5)
                    AND NOT EXISTS (SELECT 1 FROM announced_photo WHERE announced_photo.md5 = listed_object.md5)
                ORDER BY md5 LIMIT \(Self.page)
                """, [.blob(last)]
            ) { row in ColdObject(key: row.text(1), md5: row.blob(0), byteCount: row.integer(2)) }
        }
    }
}
