public import Foundation
import CloakroomSQLite

/// A journal of recoveries in a SQLite file, readable by its user alone.
///
/// It must last as long as the app's own database, so it belongs beside it and not among the caches. For 15 minutes at
/// most it holds presigned URLs, each of which allows one upload.
public actor SQLiteRecoveryJournal: RecoveryJournal {
    private var file: RecordsFile

    /// - Parameters:
    ///   - file: made when it is not there, in a folder that exists. A damaged one is renamed and a new one begun: images
    ///     whose recovery was under way are then recovered anew.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    ///   - unnamedRecords: what becomes of those that an earlier version of the kit left in the file.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside) throws {
        try self.init(at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: { Date() })
    }

    /// - Parameter maximumPages: how many pages of 4 KiB the file may have; more is ``CloakroomError/Code/diskFull``.
    package init(
        at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside, maximumPages: Int = 8192,
        wallClock: @escaping @Sendable () -> Date
    ) throws {
        let kind = RecordsFile.Kind(
            name: "the records of recoveries", migrations: RecoveryRecord.migrations, tables: ["recoveries"],
            maximumPages: maximumPages)
        self.file = try RecordsFile(
            kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: wallClock)
    }

    public func records() throws -> [RecoveryRecord] {
        try file.perform { database throws(SQLiteError) in
            try database.rows("SELECT \(RecoveryRecord.columns) FROM recoveries ORDER BY since, url") {
                row throws(SQLiteError) in try RecoveryRecord(row)
            }
        }
    }

    public func record(of asset: RenewableAsset) throws -> RecoveryRecord? {
        try file.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT \(RecoveryRecord.columns) FROM recoveries WHERE \(RenewableAsset.isSame)", asset.values
            ) { row throws(SQLiteError) in try RecoveryRecord(row) }
        }
    }

    public func write(_ record: RecoveryRecord) throws {
        try file.perform { database throws(SQLiteError) in
            let values = record.values
            let marks = values.map { _ in "?" }.joined(separator: ", ")
            try database.run("REPLACE INTO recoveries (\(RecoveryRecord.columns)) VALUES (\(marks))", values)
        }
    }

    public func remove(_ asset: RenewableAsset) throws {
        try file.perform { database throws(SQLiteError) in
            try database.run("DELETE FROM recoveries WHERE \(RenewableAsset.isSame)", asset.values)
        }
    }
}
