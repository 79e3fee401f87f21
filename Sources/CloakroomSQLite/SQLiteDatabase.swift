#if canImport(SQLite3)
    import SQLite3
#else
    import CloakroomCSQLite
#endif

/// A database in one file (SQLite 3), for one actor to own.
///
/// Calls block their thread while SQLite reads or writes. Statements are given as text and kept prepared by it,
/// so the text must come from code and never hold data: data is bound to `?`.
@safe package final class SQLiteDatabase {
    private(set) var connection: OpaquePointer?
    private var statements: [String: SQLiteStatement] = [:]

    /// Opens a database, and makes it when it is not there: readable by its user alone, with a write-ahead log. A symbolic
    /// link in the file's place is not followed.
    ///
    /// - Parameters:
    ///   - path: of the file, in a folder that exists; SQLite puts two more beside it, `-wal` and `-shm`.
    ///   - migrations: see ``migrate(_:)``; `nil` leaves the schema as it is.
    package init(
        at path: String, settings: SQLiteSettings = SQLiteSettings(), migrations: [String]? = nil
    ) throws(SQLiteError) {
        // SQLite refuses a link anywhere in the path, and some systems' usual folders lie behind one.
        let path = resolveFolder(of: path)
        try makeDatabaseFile(at: path)
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        unsafe connection = opened
        guard code == SQLITE_OK else { throw failure(unsafe sqlite3_extended_errcode(opened)) }
        unsafe sqlite3_extended_result_codes(opened, 1)
        let milliseconds = settings.busyTimeout / .milliseconds(1)
        unsafe sqlite3_busy_timeout(opened, Int32(clamping: Int64(milliseconds)))
        try configure(settings)
        if let migrations { try migrate(migrations) }
    }

    /// Makes one in memory, which lasts as long as the object.
    package init(inMemory migrations: [String]) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2(":memory:", &opened, flags, nil)
        unsafe connection = opened
        guard code == SQLITE_OK else { throw failure(unsafe sqlite3_extended_errcode(opened)) }
        unsafe sqlite3_extended_result_codes(opened, 1)
        try migrate(migrations)
    }

    deinit { close() }

    /// Gives the file back; statements afterwards fail. Without it, the end of the object does it.
    package func close() {
        statements = [:]
        // It waits for statements that are still used, so it cannot fail.
        unsafe sqlite3_close_v2(connection)
        unsafe connection = nil
    }

    /// Runs one statement to its end.
    ///
    /// - Returns: how many rows it inserted, changed or deleted; meaningless for other statements.
    @discardableResult
    package func run(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> Int {
        try forEach(sql, values) { _ in true }
        return unsafe Int(sqlite3_changes(connection))
    }

    /// Runs statements without values, divided by semicolons.
    package func run(script: String) throws(SQLiteError) {
        guard let connection = unsafe connection else { throw Self.closed }
        let code = unsafe sqlite3_exec(connection, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// All rows of a query, each as `read` makes it.
    package func rows<Row>(
        _ sql: String, _ values: [SQLiteValue] = [], read: (borrowing SQLiteRow) throws(SQLiteError) -> Row
    ) throws(SQLiteError) -> [Row] {
        var rows: [Row] = []
        try forEach(sql, values) { row throws(SQLiteError) in
            rows.append(try read(row))
            return true
        }
        return rows
    }

    /// The first row of a query; `nil` when there is none.
    package func first<Row>(
        _ sql: String, _ values: [SQLiteValue] = [], read: (borrowing SQLiteRow) throws(SQLiteError) -> Row
    ) throws(SQLiteError) -> Row? {
        var first: Row?
        try forEach(sql, values) { row throws(SQLiteError) in
            first = try read(row)
            return false
        }
        return first
    }

    /// Reads a query row by row, without holding them all.
    ///
    /// - Parameter body: says whether to go on.
    package func forEach(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (borrowing SQLiteRow) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        let code = try statement(sql).run(values, read: body)
        guard code == SQLITE_DONE else { throw failure(code) }
    }

    /// Does all of `body`, or nothing of it when it throws or its end cannot be written. Transactions do not nest.
    ///
    /// It is the only writer from its begin on, so ``SQLiteError/busy`` can come only there.
    @discardableResult
    package func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        precondition(!isInTransaction, "transactions do not nest")
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Of some failures SQLite has rolled back by itself, and then there is nothing left to roll back. A rollback
            // that fails leaves the file to the next one who opens it: what was not committed is not seen again.
            if isInTransaction { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    private var isInTransaction: Bool { unsafe connection.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    /// How many rows this connection has inserted, changed or deleted so far, also where that was rolled back: as long as
    /// it is the same, nothing was. `nil` for a closed one. What other connections write is not counted.
    package var changeCount: Int? { unsafe connection.map { unsafe Int(sqlite3_total_changes($0)) } }

    /// How many different statements are kept prepared.
    private static let maximumStatements = 64
    static let closed = SQLiteError.other(code: SQLITE_MISUSE, message: "the database is closed")

    private func statement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        guard let connection = unsafe connection else { throw Self.closed }
        if let known = statements[sql], !known.isRunning { return known }
        guard let made = unsafe SQLiteStatement(sql, on: connection) else {
            throw failure(unsafe sqlite3_extended_errcode(connection))
        }
        if statements.count >= Self.maximumStatements { statements = [:] }
        statements[sql] = made
        return made
    }

    func failure(_ code: Int32) -> SQLiteError {
        guard let connection = unsafe connection else { return Self.closed }
        return SQLiteError(
            code: code, systemError: unsafe sqlite3_system_errno(connection),
            message: unsafe String(cString: sqlite3_errmsg(connection)))
    }
}
