import Foundation
import CloakroomSQLite

/// The rows of an outbox, and its settings.
///
/// A damaged file is moved aside; its items are made anew from the records beside their files before the new one is used.
struct OutboxStore {
    private var records: RecordsFile
    /// Reads the records beside the files.
    private let recordedRows: @Sendable () throws(CloakroomError) -> [OutboxRow]
    /// How many files had been moved aside when this one was seen to have all items.
    private var completeSince: Int?
    private let reserve: DiskReserve
    var movedAsideFiles: [URL] { records.movedAside }

    private static let kind = RecordsFile.Kind(
        name: "the records of the outbox",
        migrations: [
            RecordsFile.ownerTable,
            """
            CREATE TABLE items (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
                identity TEXT NOT NULL, priority INTEGER NOT NULL, added REAL NOT NULL, byte_count INTEGER NOT NULL,
                modified INTEGER NOT NULL, md5 TEXT NOT NULL, content_type TEXT NOT NULL, format TEXT,
                is_chat_image INTEGER NOT NULL, state TEXT NOT NULL, failures INTEGER NOT NULL, not_before REAL,
                error TEXT, target TEXT, transfer TEXT, transfers INTEGER NOT NULL, may_be_stored INTEGER NOT NULL,
                UNIQUE (kind, identity)
            );
            CREATE INDEX items_in_order ON items (state, priority DESC, sequence);
            CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID
            """,
            "ALTER TABLE items ADD COLUMN waits_since REAL",
        ],
        tables: ["items"],
        // Half of the reserve: what the log needs on a full disk. Each time it is written back costs two syncs.
        checkpointPages: DiskReserve.byteCount / 2 / 4096)

    /// - Parameter reserve: for what is written of items that are there.
    init(
        at file: URL, owner: StoreOwner, reserve: DiskReserve,
        recordedRows: @escaping @Sendable () throws(CloakroomError) -> [OutboxRow],
        wallClock: @escaping @Sendable () -> Date
    ) throws(CloakroomError) {
        self.recordedRows = recordedRows
        self.reserve = reserve
        records = try reserve.lent { () throws(CloakroomError) in
            try RecordsFile(Self.kind, at: file, owner: owner, unnamedRecords: .setAside, wallClock: wallClock)
        }
        try complete()
    }

    // MARK: Items

    mutating func row(id: String) throws(CloakroomError) -> OutboxRow? {
        try perform { database throws(SQLiteError) in
            try database.first("SELECT \(OutboxRow.columns) FROM items WHERE id = ?", [.text(id)]) {
                row throws(SQLiteError) in try OutboxRow(row)
            }
        }
    }

    mutating func row(_ kind: OutboxRow.Kind, identity: String) throws(CloakroomError) -> OutboxRow? {
        try perform { database throws(SQLiteError) in
            try database.first(
                "SELECT \(OutboxRow.columns) FROM items WHERE kind = ? AND identity = ?",
                [.text(kind.rawValue), .text(identity)]
            ) { row throws(SQLiteError) in try OutboxRow(row) }
        }
    }

    /// All of a state, or of any, in the order in which they are sent.
    mutating func rows(_ state: OutboxRow.State? = nil) throws(CloakroomError) -> [OutboxRow] {
        try perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT \(OutboxRow.columns) FROM items WHERE ?1 IS NULL OR state = ?1 ORDER BY priority DESC, sequence
                """, [SQLiteValue(state?.rawValue)]
            ) { row throws(SQLiteError) in try OutboxRow(row) }
        }
    }

    /// Those of which a transfer was begun whose end is not known.
    mutating func begun() throws(CloakroomError) -> [OutboxRow] {
        try perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT \(OutboxRow.columns) FROM items WHERE state = 'waiting' AND transfer IS NOT NULL"
            ) { row throws(SQLiteError) in try OutboxRow(row) }
        }
    }

    /// The next that may be sent.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970. A wait that has begun later, or is longer than any, was noted before the clock was set
    ///     back.
    ///   - excluded: those under way, by identifier.
    mutating func nextDue(at now: Double, excluding excluded: Set<String>) throws(CloakroomError) -> OutboxRow? {
        try perform { database throws(SQLiteError) in
            var found: OutboxRow?
            try database.forEach(
                """
                SELECT \(OutboxRow.columns) FROM items
                WHERE state = 'waiting'
                    AND (not_before IS NULL OR not_before <= ? OR not_before > ? OR waits_since > ?)
                ORDER BY priority DESC, sequence
                """, [.real(now), .real(now + OutboxRetry.longestWait), .real(now + OutboxRetry.clockTolerance)]
            ) { row throws(SQLiteError) in
                guard !excluded.contains(row.text(0)) else { return true }
                found = try OutboxRow(row)
                return false
            }
            return found
        }
    }

    /// When the first of those that wait for a time is due, in seconds since 1970.
    mutating func nextDate(after now: Double) throws(CloakroomError) -> Double? {
        try perform { database throws(SQLiteError) in
            try database.first(
                "SELECT min(not_before) FROM items WHERE state = 'waiting' AND not_before > ?", [.real(now)]
            ) { $0.realIfPresent(0) } ?? nil
        }
    }

    mutating func unsent() throws(CloakroomError) -> UnsentWork { try sums().unsent }

    /// What is unsent, and how many of its bytes have failed.
    mutating func sums() throws(CloakroomError) -> (unsent: UnsentWork, failedBytes: Int64) {
        let counts = try perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT count(*), coalesce(sum(byte_count), 0), coalesce(sum(state = 'failed'), 0),
                    coalesce(sum(byte_count) FILTER (WHERE state = 'failed'), 0)
                FROM items
                WHERE state != 'uploaded'
                """
            ) { row in
                let unsent = UnsentWork(
                    items: Int(row.integer(0)), bytes: row.integer(1), failed: Int(row.integer(2)))
                return (unsent, row.integer(3))
            }
        }
        return counts ?? (UnsentWork(items: 0, bytes: 0, failed: 0), 0)
    }

    mutating func insert(_ row: OutboxRow) throws(CloakroomError) {
        // What is new has no claim to the reserve.
        try performOnce { database throws(SQLiteError) in
            // A new file may have it from its record.
            try Self.insert(row, unlessEqual: "(id)", in: database)
        }
    }

    /// - Parameter columns: does nothing where there is one with the same values of these.
    private static func insert(
        _ row: OutboxRow, unlessEqual columns: String, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let marks = Array(repeating: "?", count: row.values.count).joined(separator: ", ")
        // The last column is that of earlier versions, which counted transfers.
        try database.run(
            """
            INSERT INTO items (\(OutboxRow.columns), transfers) VALUES (\(marks), 0) ON CONFLICT \(columns) DO NOTHING
            """, row.values)
    }

    /// Writes what has changed; one that is gone stays gone.
    ///
    /// - Parameter durability: with ``SQLiteSettings/Durability/processEnd`` a failure of power may undo it.
    mutating func update(
        _ row: OutboxRow, durability: SQLiteSettings.Durability = .powerFailure
    ) throws(CloakroomError) {
        let assignments = OutboxRow.changingColumns.map { "\($0) = ?" }.joined(separator: ", ")
        try perform(durability) { database throws(SQLiteError) in
            try database.run("UPDATE items SET \(assignments) WHERE id = ?", row.changing + [.text(row.id)])
        }
    }

    /// - Parameter durability: as in ``update(_:durability:)``.
    mutating func remove(
        _ ids: [String], durability: SQLiteSettings.Durability = .powerFailure
    ) throws(CloakroomError) {
        try perform(durability) { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for id in ids { try database.run("DELETE FROM items WHERE id = ?", [.text(id)]) }
            }
        }
    }

    private mutating func perform(
        _ durability: SQLiteSettings.Durability, _ work: (SQLiteDatabase) throws(SQLiteError) -> Void
    ) throws(CloakroomError) {
        guard durability == .processEnd else { return try perform(work) }
        try perform { database throws(SQLiteError) in
            try database.run("PRAGMA synchronous = NORMAL")
            defer { _ = try? database.run("PRAGMA synchronous = FULL") }
            try work(database)
        }
    }

    // MARK: Settings

    /// Whether the user has paused it.
    mutating func isPaused() throws(CloakroomError) -> Bool { try setting("paused") }

    mutating func setPaused(_ isPaused: Bool) throws(CloakroomError) { try set("paused", isPaused) }

    private mutating func setting(_ name: String) throws(CloakroomError) -> Bool {
        try perform { database throws(SQLiteError) in try Self.setting(name, in: database) }
    }

    private mutating func set(_ name: String, _ value: Bool) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try Self.set(name, value, in: database) }
    }

    private static func setting(_ name: String, in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.first("SELECT value FROM settings WHERE name = ?", [.text(name)]) { $0.integer(0) != 0 } ?? false
    }

    private static func set(_ name: String, _ value: Bool, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("REPLACE INTO settings (name, value) VALUES (?, ?)", [.text(name), .integer(value ? 1 : 0)])
    }

    // MARK: The file

    /// Reads or writes, in a file that has all items.
    private mutating func perform<Result>(
        _ work: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CloakroomError) -> Result {
        try reserve.lent { () throws(CloakroomError) in
            do throws(CloakroomError) { return try performOnce(work) } catch {
                guard error.code == .diskFull, emptyLog() else { throw error }
                return try performOnce(work)
            }
        }
    }

    /// Gives the room of the log back, as far as it can be written to the database's file.
    ///
    /// - Returns: whether it was.
    private mutating func emptyLog() -> Bool {
        let checkpoint = try? records.perform { database throws(SQLiteError) in try database.checkpoint(.truncate) }
        return checkpoint?.isBusy == false
    }

    private mutating func performOnce<Result>(
        _ work: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CloakroomError) -> Result {
        for _ in 0..<2 {
            try complete()
            if let result = try records.performOnThisFile(work) { return result }
        }
        throw CloakroomError(.corrupt, of: Self.kind.name)
    }

    /// Makes the items of a new file from the records beside their files.
    private mutating func complete() throws(CloakroomError) {
        guard completeSince != records.movedAside.count else { return }
        let isComplete = try records.perform { database throws(SQLiteError) in
            try Self.setting("complete", in: database)
        }
        if !isComplete {
            let rows = try recordedRows()
            try records.perform { database throws(SQLiteError) in
                try database.transaction { () throws(SQLiteError) in
                    for row in rows { try Self.insert(row, unlessEqual: "", in: database) }
                    try Self.set("complete", true, in: database)
                }
            }
        }
        completeSince = records.movedAside.count
    }
}
