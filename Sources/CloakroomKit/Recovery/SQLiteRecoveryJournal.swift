public import Foundation
import SQLite

/// A journal of recoveries in a SQLite file, readable by its user alone.
///
/// It must last as long as the app's own database, so it belongs beside it and not among the caches. For 15 minutes at
/// most it holds URLs that open one place each for an upload.
public actor SQLiteRecoveryJournal: RecoveryJournal {
    private let path: String
    private var database: SQLiteDatabase
    private let maximumPages: Int
    private let wallClock: @Sendable () -> Date

    /// - Parameter file: made when it is not there, in a folder that exists. A damaged one is renamed and a new one
    ///   begun: images whose recovery was under way are then recovered anew.
    /// - Throws: ``CloakroomError`` with ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL) throws { try self.init(at: file, wallClock: { Date() }) }

    /// - Parameter maximumPages: how many pages of 4 KiB the file may have; more is ``CloakroomError/Code/diskFull``.
    package init(at file: URL, maximumPages: Int = 8192, wallClock: @escaping @Sendable () -> Date) throws {
        path = file.path
        self.maximumPages = maximumPages
        self.wallClock = wallClock
        database = try Self.open(path, maximumPages, wallClock())
    }

    public func records() throws -> [RecoveryRecord] {
        try perform { database throws(SQLiteError) in
            try database.rows("SELECT \(RecoveryRecord.columns) FROM recoveries ORDER BY since, url") {
                row throws(SQLiteError) in try RecoveryRecord(row)
            }
        }
    }

    public func record(of asset: RenewableAsset) throws -> RecoveryRecord? {
        try perform { database throws(SQLiteError) in
            try database.first(
                "SELECT \(RecoveryRecord.columns) FROM recoveries WHERE \(RenewableAsset.isSame)", asset.values
            ) { row throws(SQLiteError) in try RecoveryRecord(row) }
        }
    }

    public func write(_ record: RecoveryRecord) throws {
        try perform { database throws(SQLiteError) in
            let values = record.values
            let marks = values.map { _ in "?" }.joined(separator: ", ")
            try database.run("REPLACE INTO recoveries (\(RecoveryRecord.columns)) VALUES (\(marks))", values)
        }
    }

    public func remove(_ asset: RenewableAsset) throws {
        try perform { database throws(SQLiteError) in
            try database.run("DELETE FROM recoveries WHERE \(RenewableAsset.isSame)", asset.values)
        }
    }

    @discardableResult
    private func perform<Result>(_ work: (SQLiteDatabase) throws(SQLiteError) -> Result) throws -> Result {
        do {
            return try work(database)
        } catch {
            // The next call finds an empty one.
            if error == .corrupt {
                database.close()
                _ = try? SQLiteDatabase.moveAside(at: path, on: wallClock())
                database = try Self.open(path, maximumPages, wallClock())
            }
            throw CloakroomError(error, of: "the records of recoveries")
        }
    }

    private static func open(
        _ path: String, _ maximumPages: Int, _ date: Date
    ) throws(CloakroomError) -> SQLiteDatabase {
        do {
            let opened = try SQLiteDatabase.openOrReplace(at: path, migrations: RecoveryRecord.migrations, on: date)
            try opened.database.run(script: "PRAGMA max_page_count = \(maximumPages)")
            return opened.database
        } catch {
            throw CloakroomError(error, of: "the records of recoveries")
        }
    }
}
