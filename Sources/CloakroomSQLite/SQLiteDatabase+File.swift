#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension SQLiteDatabase {
    /// Opens a database as ``init(at:settings:migrations:)`` does; one that is damaged makes room for a new one.
    ///
    /// For records that can be made anew: an app must not stay unusable for a damaged file.
    ///
    /// - Returns: the database, and where the damaged one is now, if there was one.
    package static func openOrReplace(
        at path: String, settings: SQLiteSettings = SQLiteSettings(), migrations: [String]? = nil, on date: Date
    ) throws(SQLiteError) -> (database: SQLiteDatabase, movedAside: String?) {
        do {
            return (try SQLiteDatabase(at: path, settings: settings, migrations: migrations), nil)
        } catch .corrupt {
            let movedAside = try moveAside(at: path, on: date)
            return (try SQLiteDatabase(at: path, settings: settings, migrations: migrations), movedAside)
        }
    }

    /// Renames a database that is not open to `<name>.<label>-<date>`, with its log.
    ///
    /// - Returns: its new path.
    @discardableResult
    package static func moveAside(
        at path: String, label: String = "corrupt", on date: Date
    ) throws(SQLiteError) -> String {
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        let target = "\(path).\(label)-\(date.formatted(style))"
        // The database first: SQLite does not take an old log for that of a new, empty file.
        for suffix in ["", "-wal", "-shm"] where unsafe rename(path + suffix, target + suffix) != 0 && errno != ENOENT {
            throw fileFailure(errno, at: path + suffix)
        }
        return target
    }

    private static func fileFailure(_ code: Int32, at path: String) -> SQLiteError {
        switch code {
        case ENOSPC, EDQUOT: .full
        case EACCES, EPERM, EROFS: .readOnly
        default: unsafe .other(code: code, message: "\(path): \(String(cString: strerror(code)))")
        }
    }
}

/// The path with the symbolic links of its folder resolved: a file of the name itself must not be one.
func resolveFolder(of path: String) -> String {
    let url = URL(fileURLWithPath: path, isDirectory: false)
    guard let folder = unsafe realpath(url.deletingLastPathComponent().path, nil) else { return path }
    defer { unsafe free(folder) }
    return unsafe String(cString: folder) + "/" + url.lastPathComponent
}

/// Makes an empty file for its user alone; SQLite gives its log the same mode.
///
/// Only one that is new is opened here: closing a descriptor drops all locks that the process has on that file
/// (https://sqlite.org/howtocorrupt.html §2.2).
func makeDatabaseFile(at path: String) throws(SQLiteError) {
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
        // Of anything else SQLite itself will complain.
        guard errno == ENOSPC || errno == EDQUOT else { return }
        throw .full
    }
    _ = close(descriptor)
}
