import Foundation
import SQLite

/// Records of the kit's in a database, for one actor to own.
///
/// All of them can do without what is lost, so a damaged file is moved aside and begun anew, when it is opened and
/// whenever it turns out to be damaged; what fails, fails in the kit's words.
struct RecordsFile {
    /// What the records of one kind look like, and are.
    struct Kind: Sendable {
        /// Such as "the records of renewals".
        var name: String
        var migrations: [String]
        var durability = SQLiteSettings.Durability.powerFailure
        /// How many pages of 4 KiB the file may have; `nil` for as many as there is room for.
        var maximumPages: Int?
    }

    private let path: String
    private let kind: Kind
    private let wallClock: @Sendable () -> Date
    private var database: SQLiteDatabase
    /// Where damaged files are now, if there were any.
    private(set) var movedAside: [URL] = []

    /// - Parameter file: made when it is not there, in a folder that exists; two more come beside it, `-wal` and `-shm`.
    init(_ kind: Kind, at file: URL, wallClock: @escaping @Sendable () -> Date) throws(CloakroomError) {
        path = file.path
        self.kind = kind
        self.wallClock = wallClock
        do {
            let opened = try Self.open(kind, file.path, on: wallClock())
            database = opened.database
            movedAside = opened.movedAside.map { [URL(fileURLWithPath: $0)] } ?? []
        } catch {
            throw CloakroomError(error, of: kind.name)
        }
    }

    /// Reads or writes; on a file that turns out to be damaged it is done once more, on a new one.
    @discardableResult
    mutating func perform<Result>(
        _ work: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CloakroomError) -> Result {
        do {
            do {
                return try work(database)
            } catch .corrupt {
                database.close()
                let date = wallClock()
                movedAside.append(URL(fileURLWithPath: try SQLiteDatabase.moveAside(at: path, on: date)))
                database = try Self.open(kind, path, on: date).database
                return try work(database)
            }
        } catch {
            throw CloakroomError(error, of: kind.name)
        }
    }

    private static func open(
        _ kind: Kind, _ path: String, on date: Date
    ) throws(SQLiteError) -> (database: SQLiteDatabase, movedAside: String?) {
        let opened = try SQLiteDatabase.openOrReplace(
            at: path, settings: SQLiteSettings(durability: kind.durability), migrations: kind.migrations, on: date)
        if let pages = kind.maximumPages { try opened.database.run(script: "PRAGMA max_page_count = \(pages)") }
        return opened
    }
}
