import CloakroomKit
import CloakroomSQLite
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What is known of each photo: a database beside the files, owned by one actor.
///
/// It can be made anew from the files, the cold tier's listing and the snapshots; so a damaged one is moved aside.
final class Catalog {
    let database: SQLiteDatabase
    /// Where the damaged one is now, if there was one: the photos of the folder have to be adopted.
    let movedAside: String?

    private static let settings = SQLiteSettings(durability: .powerFailure, autoVacuum: .incremental)

    /// - Parameters:
    ///   - file: of the database; made when it is not there.
    ///   - isWriter: whether this process has the folder's lock: only then a damaged one is moved aside.
    init(at file: URL, isWriter: Bool, on date: Date) throws(CloakroomError) {
        self.file = file
        damageMark = file.appendingPathExtension("damaged")
        do throws(SQLiteError) {
            guard isWriter else {
                database = try SQLiteDatabase(at: file.path, settings: Self.settings, migrations: Self.migrations)
                movedAside = nil
                self.opened = Self.identity(of: file)
                return
            }
            var marked: String?
            if StoreFolder.status(damageMark) != nil {
                marked = try SQLiteDatabase.moveAside(at: file.path, on: date)
                unlink(damageMark.path)
            }
            let opened = try SQLiteDatabase.openOrReplace(
                at: file.path, settings: Self.settings, migrations: Self.migrations, on: date)
            (database, movedAside) = (opened.database, opened.movedAside ?? marked)
            self.opened = Self.identity(of: file)
            // Ids that an earlier catalog of this folder gave are not given again.
            try database.run(
                """
                INSERT INTO sqlite_sequence (name, seq) SELECT 'photo', ?
                WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'photo')
                """, [.integer(max(0, date.milliseconds))])
        } catch {
            if error == .corrupt { Self.mark(damageMark) }
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// Whether the database is still the one of its folder, and not one that another process has moved aside.
    var isInPlace: Bool { opened != nil && opened == Self.identity(of: file) }

    private let file: URL
    private let opened: FileIdentity?

    private struct FileIdentity: Equatable {
        let device: dev_t
        let number: ino_t
    }

    private static func identity(of file: URL) -> FileIdentity? {
        StoreFolder.status(file).map { FileIdentity(device: $0.st_dev, number: $0.st_ino) }
    }

    private static let name = "the catalog of photos"
    /// A file that says that the database turned out to be damaged while it was used: the next one who opens it to write
    /// moves it aside.
    private let damageMark: URL

    private static func mark(_ file: URL) {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Runs statements; their failures are the kit's.
    @discardableResult
    func perform<Value>(_ body: (SQLiteDatabase) throws(SQLiteError) -> Value) throws(CloakroomError) -> Value {
        do throws(SQLiteError) {
            return try body(database)
        } catch {
            if error == .corrupt { Self.mark(damageMark) }
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
}
