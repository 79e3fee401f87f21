#if canImport(SQLite3)
    import SQLite3
#else
    import CloakroomCSQLite
#endif

/// A value of one row that is read in pieces, so that it is never in memory as a whole.
///
/// As long as it exists, its connection reads the database as it was then. A row that the same connection changes
/// meanwhile cannot be read on (https://sqlite.org/c3ref/blob_open.html).
@safe package struct SQLiteBlob: ~Copyable {
    private let pointer: OpaquePointer
    /// Which must not be closed before.
    private let database: SQLiteDatabase

    package let byteCount: Int

    fileprivate init(_ pointer: OpaquePointer, in database: SQLiteDatabase) {
        unsafe self.pointer = pointer
        self.database = database
        byteCount = unsafe Int(sqlite3_blob_bytes(pointer))
    }

    deinit { unsafe sqlite3_blob_close(pointer) }

    /// - Returns: the bytes from `offset` on, `count` of them or those that are left.
    package func read(at offset: Int, count: Int) throws(SQLiteError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0, "a piece begins in the value")
        let count = min(count, byteCount - offset)
        guard count > 0 else { return [] }
        var code = SQLITE_OK
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            code = unsafe sqlite3_blob_read(pointer, buffer.baseAddress, Int32(count), Int32(offset))
            initialized = code == SQLITE_OK ? count : 0
        }
        guard code == SQLITE_OK else { throw database.failure(code) }
        return bytes
    }
}

extension SQLiteDatabase {
    /// Opens a value to be read in pieces.
    ///
    /// - Parameters:
    ///   - table: and `column`: names from code, as they are written in the schema.
    ///   - row: its rowid.
    /// - Throws: ``SQLiteError``, also when there is no such row, or when its value is neither text nor blob.
    package func blob(table: String, column: String, row: Int64) throws(SQLiteError) -> SQLiteBlob {
        guard let connection = unsafe connection else { throw Self.closed }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_blob_open(connection, "main", table, column, row, 0, &opened)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let error = failure(code)
            unsafe sqlite3_blob_close(opened)
            throw error
        }
        return unsafe SQLiteBlob(opened, in: self)
    }
}
