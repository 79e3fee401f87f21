#if canImport(SQLite3)
    import SQLite3
#else
    import CloakroomCSQLite
#endif
#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why a database did not do what it was told; nothing was changed, or the transaction is rolled back.
package enum SQLiteError: Error, Sendable, Equatable {
    /// No space is left on the disk, or the database has reached its limit.
    case full
    /// Another connection wrote during the whole busy timeout.
    case busy
    /// This is no database, or its content is damaged: ``SQLiteDatabase/moveAside(at:on:)`` makes room for a new one.
    case corrupt
    /// The file, its folder or the disk may not be written.
    case readOnly
    /// A newer version of the app made it, with more migrations than this one knows.
    case newer(userVersion: Int)
    /// An extended result code (https://sqlite.org/rescode.html) and SQLite's words for it, without bound values.
    case other(code: Int32, message: String)

    /// - Parameters:
    ///   - code: extended.
    ///   - systemError: the `errno` of the file operation that failed, if one did.
    init(code: Int32, systemError: Int32, message: String) {
        switch code & 0xff {
        case SQLITE_FULL: self = .full
        case SQLITE_IOERR, SQLITE_CANTOPEN:
            self = [ENOSPC, EDQUOT].contains(systemError) ? .full : .other(code: code, message: message)
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt
        case SQLITE_READONLY, SQLITE_PERM: self = .readOnly
        default: self = .other(code: code, message: message)
        }
    }
}
