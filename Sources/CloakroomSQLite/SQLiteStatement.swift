#if canImport(SQLite3)
    import SQLite3
#else
    import CloakroomCSQLite
#endif

/// One prepared statement, used again and again. Failures are codes; the connection has the words.
@safe final class SQLiteStatement {
    private let pointer: OpaquePointer
    /// While its rows are read: then the same text needs another one.
    private(set) var isRunning = false

    /// - Returns: `nil` when SQLite refuses the text.
    init?(_ sql: String, on connection: OpaquePointer) {
        var pointer: OpaquePointer?
        let code = unsafe sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            let code = unsafe sqlite3_prepare_v3(
                connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, &rest)
            precondition(unsafe code != SQLITE_OK || rest?.pointee == 0, "one statement at a time; see run(script:)")
            return code
        }
        guard code == SQLITE_OK, let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
    }

    deinit { unsafe sqlite3_finalize(pointer) }

    /// - Returns: `SQLITE_DONE`, or the code of what failed.
    func run<Failure: Error>(
        _ values: [SQLiteValue], read: (borrowing SQLiteRow) throws(Failure) -> Bool
    ) throws(Failure) -> Int32 {
        isRunning = true
        defer {
            // Its code is that of the last step, which was looked at.
            unsafe sqlite3_reset(pointer)
            unsafe sqlite3_clear_bindings(pointer)
            isRunning = false
        }
        precondition(unsafe Int(sqlite3_bind_parameter_count(pointer)) == values.count, "one value for each parameter")
        for (index, value) in values.enumerated() {
            let code = bind(value, to: Int32(index + 1))
            guard code == SQLITE_OK else { return code }
        }
        while true {
            let code = unsafe sqlite3_step(pointer)
            guard code == SQLITE_ROW else { return code }
            guard try read(unsafe SQLiteRow(pointer)) else { return SQLITE_DONE }
        }
    }

    private func bind(_ value: SQLiteValue, to index: Int32) -> Int32 {
        // SQLITE_TRANSIENT, a cast that is not imported: SQLite copies the bytes.
        let copies = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return unsafe sqlite3_bind_null(pointer, index)
        case .integer(let integer): return unsafe sqlite3_bind_int64(pointer, index, integer)
        case .real(let real): return unsafe sqlite3_bind_double(pointer, index, real)
        case .text(let text):
            return unsafe sqlite3_bind_text64(
                pointer, index, text, UInt64(text.utf8.count), copies, UInt8(SQLITE_UTF8))
        // The address of no bytes may be none, and that would be null.
        case .blob(let bytes) where bytes.isEmpty: return unsafe sqlite3_bind_zeroblob(pointer, index, 0)
        case .blob(let bytes):
            return unsafe sqlite3_bind_blob64(pointer, index, bytes, UInt64(bytes.count), copies)
        }
    }
}
