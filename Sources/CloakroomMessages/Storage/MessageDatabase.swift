import CloakroomKit
import CloakroomSQLite
import Foundation

/// Messages, agreements and the journal of purges: one database, owned by one actor.
final class MessageDatabase {
    let database: SQLiteDatabase
    private let file: URL

    private static let settings = SQLiteSettings(
        durability: .powerFailure, overwritesDeleted: true, keepsTemporariesInMemory: true)
    private static let name = "the messages"

    /// - Parameter file: made when it is not there.
    /// - Throws: `.corrupt` for one that is damaged: it has to be moved aside.
    init(at file: URL) throws(SQLiteError) {
        self.file = file
        database = try SQLiteDatabase(at: file.path, settings: Self.settings, migrations: Self.migrations)
    }

    /// Runs statements; their failures are the kit's.
    @discardableResult
    func perform<Value>(_ body: (SQLiteDatabase) throws(SQLiteError) -> Value) throws(CloakroomError) -> Value {
        do throws(SQLiteError) {
            return try body(database)
        } catch {
            if error == .corrupt { Self.markDamaged(file) }
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// Runs statements in one transaction.
    @discardableResult
    func transaction<Value>(_ body: (SQLiteDatabase) throws(SQLiteError) -> Value) throws(CloakroomError) -> Value {
        try perform { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in try body(database) }
        }
    }

    /// The same without waiting for the disk: the failure of power may undo it, with what came after it, until another
    /// transaction or a checkpoint has waited. For what is done again then.
    ///
    /// Others who write need not wait for the disk either. The log is not written back meanwhile: that is up to the caller.
    @discardableResult
    func repeatableTransaction<Value>(
        _ body: (SQLiteDatabase) throws(SQLiteError) -> Value
    ) throws(CloakroomError) -> Value {
        try perform { database throws(SQLiteError) in
            try database.run(
                script: "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -8192")
            defer { _ = try? database.run(script: "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000") }
            return try database.transaction { () throws(SQLiteError) in try body(database) }
        }
    }

    /// Reads one state of the database, and asks the system for it once: of many short queries that takes most of the time.
    func reading(_ body: () throws(CloakroomError) -> Void) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try database.run("BEGIN") }
        // Nothing was written, so that nothing can be lost with it.
        defer { _ = try? database.run("ROLLBACK") }
        try body()
    }

    static func failure(_ error: SQLiteError) -> CloakroomError { CloakroomError(error, of: name) }

    // MARK: Damage

    /// A file that says that the database turned out to be damaged while it was used: the next one who opens it moves it
    /// aside.
    private static func damageMark(_ file: URL) -> URL { file.appendingPathExtension("damaged") }

    private static func markDamaged(_ file: URL) {
        // A mark that cannot be written is written by the next statement that meets the damage.
        _ = FileManager.default.createFile(atPath: damageMark(file).path, contents: nil)
    }

    static func isMarkedDamaged(_ file: URL) -> Bool {
        FileManager.default.fileExists(atPath: damageMark(file).path)
    }

    /// After the damaged one was moved aside, and before there is a new one: a mark that stays moves that aside, too.
    static func unmarkDamaged(_ file: URL) { try? FileManager.default.removeItem(at: damageMark(file)) }

    // MARK: The clock

    static func store(_ clock: RetentionClock, in database: SQLiteDatabase) throws(SQLiteError) {
        // Numbers and a short text, which JSON can hold.
        guard let state = try? JSONEncoder().encode(clock) else { return }
        try database.run(
            "INSERT INTO clock (id, state) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
            [.text(String(decoding: state, as: UTF8.self))])
    }

    // MARK: A vault that was lost

    /// Whether messages are here that no key opens any more: keys that have no key for names yet have begun anew, also when
    /// the process that began them ended at once.
    func isUnreadable(with keys: MessageKeys) throws(CloakroomError) -> Bool {
        guard keys.key(SQLiteMessageStorage.hashKeyID) == nil else { return false }
        return try perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM known") { _ in true } != nil
        }
    }

    /// Removes what is worth nothing without the former keys, and leaves the messages to the next purge.
    func endUnreadable() throws(CloakroomError) {
        try transaction { database throws(SQLiteError) in
            let tables = [
                "known", "needless", "ended_asset", "condemned", "purge", "retiring_key", "memory_note", "memory_image",
            ]
            for table in tables {
                try database.run("DELETE FROM \(table)")
            }
            try Self.deleteAll(in: database)
        }
    }

    /// Messages that are lost here, and not at other participants, are as those that the user deletes: their names are in
    /// the clear, so that the next purge has handlers, caches and the bucket remove what these have.
    static func deleteAll(in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run(
            """
            UPDATE conversation SET deleted_through = last.seq, last_deleted = last.seq
            FROM (SELECT seq FROM sqlite_sequence WHERE name = 'message') AS last
            """)
    }
}
