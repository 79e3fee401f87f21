import Foundation
import CloakroomSQLite

/// Records in a database, owned by one actor.
///
/// All of them can do without what is lost, so a damaged file is moved aside and begun anew, when it is opened and
/// whenever it turns out to be damaged; failures are ``CloakroomError``, and the next call retries.
struct RecordsFile {
    /// The schema of one kind of records.
    struct Kind: Sendable {
        /// Such as "the records of renewals".
        var name: String
        /// With ``RecordsFile/ownerTable``.
        var migrations: [String]
        /// Those that hold records.
        var tables: [String]
        var durability = SQLiteSettings.Durability.powerFailure
        /// How many pages of 4 KiB the file may have; `nil` for as many as there is room for.
        var maximumPages: Int?
        /// As in ``SQLiteSettings``.
        var checkpointPages: Int?
    }

    /// The migration since which a file names its owner.
    static let ownerTable =
        "CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), user TEXT NOT NULL, endpoint TEXT NOT NULL)"

    /// In place of a file: records that last as long as the process.
    static let inMemory = URL(fileURLWithPath: "/:memory:", isDirectory: false)

    private let path: String
    private let isInMemory: Bool
    private let kind: Kind
    private let owner: StoreOwner
    private let unnamedRecords: UnnamedRecords
    private let wallClock: @Sendable () -> Date
    /// `nil` while the file could not be opened again.
    private var database: SQLiteDatabase?
    /// Where damaged files are now, and those of no named owner, if there were any.
    private(set) var movedAside: [URL] = []

    /// - Parameter file: made when it is not there, in a folder that exists; two more come beside it, `-wal` and `-shm`. Or
    ///   ``inMemory``.
    /// - Throws: ``CloakroomError/Code/storeOwnerMismatch`` for another owner's file, besides what opening it throws.
    init(
        _ kind: Kind, at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords,
        wallClock: @escaping @Sendable () -> Date
    ) throws(CloakroomError) {
        path = file.path
        isInMemory = file == Self.inMemory
        self.kind = kind
        self.owner = owner
        self.unnamedRecords = unnamedRecords
        self.wallClock = wallClock
        _ = try opened()
    }

    /// Reads or writes; on a file that turns out to be damaged it is done once more, on a new one.
    @discardableResult
    mutating func perform<Result>(
        _ work: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CloakroomError) -> Result {
        for _ in 0..<2 {
            if let result = try performOnThisFile(work) { return result }
        }
        throw CloakroomError(.corrupt, of: kind.name)
    }

    /// Reads or writes.
    ///
    /// - Returns: `nil` when the file is damaged: there is a new one in its place, without records, and the work has
    ///   changed nothing in that.
    mutating func performOnThisFile<Result>(
        _ work: (SQLiteDatabase) throws(SQLiteError) -> Result
    ) throws(CloakroomError) -> Result? {
        let before = movedAside.count
        let opened = try opened()
        guard movedAside.count == before else { return nil }
        do throws(SQLiteError) {
            do throws(SQLiteError) {
                return try work(opened)
            } catch {
                guard error == .corrupt else { throw error }
                database = nil
                database = try replace(opened, label: "corrupt")
                return nil
            }
        } catch {
            throw CloakroomError(error, of: kind.name)
        }
    }

    private mutating func opened() throws(CloakroomError) -> SQLiteDatabase {
        if let database { return database }
        do throws(SQLiteError) {
            let found = try connect()
            let ownership = try ownership(found)
            switch ownership {
            case .ours: database = found
            case .another: break
            case .unnamed: database = try replace(found, label: "unnamed")
            case .damaged: database = try replace(found, label: "corrupt")
            }
        } catch {
            throw CloakroomError(error, of: kind.name)
        }
        guard let database else {
            throw CloakroomError(
                .storeOwnerMismatch,
                "\(kind.name) are those of another user or endpoint; open a file of this user's, or remove this one")
        }
        return database
    }

    private mutating func connect() throws(SQLiteError) -> SQLiteDatabase {
        if isInMemory { return try SQLiteDatabase(inMemory: kind.migrations) }
        let opened = try SQLiteDatabase.openOrReplace(
            at: path,
            settings: SQLiteSettings(durability: kind.durability, checkpointPages: kind.checkpointPages),
            migrations: kind.migrations, on: wallClock())
        if let path = opened.movedAside { movedAside.append(URL(fileURLWithPath: path)) }
        if let pages = kind.maximumPages { try opened.database.run(script: "PRAGMA max_page_count = \(pages)") }
        return opened.database
    }

    /// Moves a file aside and begins a new one.
    private mutating func replace(_ old: SQLiteDatabase, label: String) throws(SQLiteError) -> SQLiteDatabase {
        old.close()
        let target = try SQLiteDatabase.moveAside(at: path, label: label, on: wallClock())
        movedAside.append(URL(fileURLWithPath: target))
        let new = try connect()
        // Another process may have made one meanwhile.
        guard try ownership(new) == .ours else { throw .busy }
        return new
    }

    // MARK: The owner

    private enum Ownership {
        case ours, another
        /// It holds records, and does not say whose.
        case unnamed
        case damaged
    }

    /// Reads whose file it is, and writes the owner's name into one without records.
    private func ownership(_ database: SQLiteDatabase) throws(SQLiteError) -> Ownership {
        do throws(SQLiteError) {
            if let named = try named(database) { return named }
            return try database.transaction { () throws(SQLiteError) in
                // Another process may have been here meanwhile.
                if let named = try named(database) { return named }
                for table in kind.tables where unnamedRecords == .setAside {
                    if try database.first("SELECT 1 FROM \(table)", read: { _ in true }) != nil { return .unnamed }
                }
                try database.run(
                    "INSERT INTO owner (id, user, endpoint) VALUES (1, ?, ?)",
                    [.text(owner.user), .text(owner.endpoint)])
                return .ours
            }
        } catch {
            guard error == .corrupt else { throw error }
            return .damaged
        }
    }

    private func named(_ database: SQLiteDatabase) throws(SQLiteError) -> Ownership? {
        try database.first("SELECT user, endpoint FROM owner") { row in
            StoreOwner(user: row.text(0), endpointName: row.text(1)) == owner ? .ours : .another
        }
    }
}
