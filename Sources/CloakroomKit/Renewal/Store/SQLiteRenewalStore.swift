package import CloakroomAWS
public import Foundation
import CloakroomSQLite

/// Records of renewals in a file.
///
/// A damaged file is moved aside and begun anew: then each asset is renewed once more.
public actor SQLiteRenewalStore: RenewalStore {
    private var file: RecordsFile
    /// Where damaged files are now, and those of no named owner, if there were any.
    var movedAside: [URL] { file.movedAside }

    /// - Parameters:
    ///   - file: in a folder that exists; two more come beside it, `-wal` and `-shm`.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    ///   - unnamedRecords: what becomes of those that an earlier version of the kit left in the file.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside) throws {
        try self.init(at: file, owner: owner, unnamedRecords: unnamedRecords, runtime: RuntimeDependencies())
    }

    package init(
        at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside, runtime: RuntimeDependencies
    ) throws {
        self.file = try RecordsFile(
            Self.kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: runtime.wallClock)
    }

    public func records() throws -> [RenewalRecord] {
        try file.perform { database throws(SQLiteError) in
            try database.rows("SELECT \(Self.columns) FROM renewals") { row in RenewalRecord(row) }
        }
    }

    public func records(of keys: [String]) throws -> [RenewalRecord] {
        try file.perform { database throws(SQLiteError) in
            // No transaction: a renewal reads also while another process writes.
            var records: [RenewalRecord] = []
            for key in keys {
                let found = try database.first(
                    "SELECT \(Self.columns) FROM renewals WHERE key = ?", [.text(key)]
                ) { row in RenewalRecord(row) }
                if let found { records.append(found) }
            }
            return records
        }
    }

    public func keys(notHeardSince date: Date) throws -> [String] {
        try file.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT key FROM renewals WHERE (last_renewed IS NULL OR last_renewed < ?1)
                AND (failure IS NULL OR failure_last IS NULL OR failure_last < ?1)
                """, [SQLiteValue(date)]
            ) { row in row.text(0) }
        }
    }

    public func save(_ records: [RenewalRecord]) throws {
        try file.perform { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for record in records {
                    try database.run(
                        "INSERT OR REPLACE INTO renewals (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        record.values)
                }
            }
        }
    }

    public func remove(keys: [String]) throws {
        try file.perform { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in
                for key in keys { try database.run("DELETE FROM renewals WHERE key = ?", [.text(key)]) }
            }
        }
    }

    public func pauseEnd() throws -> Date? {
        try file.perform { database throws(SQLiteError) in
            try database.first("SELECT pause_end FROM server") { row in row.dateIfPresent(0) } ?? nil
        }
    }

    public func savePauseEnd(_ date: Date?) throws {
        try file.perform { database throws(SQLiteError) in
            try database.run("INSERT OR REPLACE INTO server (id, pause_end) VALUES (1, ?)", [SQLiteValue(date)])
        }
    }

    private static let columns =
        "key, last_renewed, expires_at, failure, failure_reason, failure_first, failure_last, failure_count"
    /// Dates are seconds since 1970.
    private static let kind = RecordsFile.Kind(
        name: "the records of renewals",
        migrations: [
            """
            CREATE TABLE renewals (
                key TEXT NOT NULL PRIMARY KEY,
                last_renewed REAL,
                expires_at REAL,
                failure TEXT,
                failure_reason TEXT,
                failure_first REAL,
                failure_last REAL,
                failure_count INTEGER
            ) WITHOUT ROWID;
            CREATE TABLE server (id INTEGER PRIMARY KEY, pause_end REAL);
            """,
            RecordsFile.ownerTable,
        ],
        tables: ["renewals", "server"],
        // Records lost in a power failure cost one more renewal.
        durability: .processEnd)
}

extension SQLiteValue {
    fileprivate init(_ date: Date?) { self.init(date?.timeIntervalSince1970) }
}

extension SQLiteRow {
    fileprivate func dateIfPresent(_ column: Int32) -> Date? {
        realIfPresent(column).map(Date.init(timeIntervalSince1970:))
    }
}

extension RenewalRecord {
    fileprivate var values: [SQLiteValue] {
        [
            .text(key), SQLiteValue(lastRenewed), SQLiteValue(expiration), SQLiteValue(failure?.kind.rawValue),
            SQLiteValue(failure?.reason), SQLiteValue(failure?.first), SQLiteValue(failure?.last),
            SQLiteValue(failure?.count),
        ]
    }

    fileprivate init(_ row: borrowing SQLiteRow) {
        self.init(key: row.text(0), lastRenewed: row.dateIfPresent(1), expiration: row.dateIfPresent(2))
        guard let kind = row.textIfPresent(3).flatMap(RenewalFailure.Kind.init(rawValue:)),
            let first = row.dateIfPresent(5), let last = row.dateIfPresent(6)
        else { return }
        failure = RenewalFailure(
            kind: kind, reason: row.text(4), first: first, last: last, count: Int(row.integer(7)))
    }
}
