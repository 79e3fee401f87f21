#if canImport(SQLite3)
    import SQLite3
#else
    import CloakroomCSQLite
#endif

/// One row of a result, as long as it is the current one. Columns count from 0.
///
/// A null reads as 0 or as nothing (https://sqlite.org/c3ref/column_blob.html), unless asked for with `IfPresent`.
@safe package struct SQLiteRow: ~Copyable {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    package func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(pointer, column) == SQLITE_NULL }

    package func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(pointer, column) }
    package func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(pointer, column) }

    package func text(_ column: Int32) -> String {
        // Asked for in this order: the pointer first, then how long it is now.
        guard let text = unsafe sqlite3_column_text(pointer, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(pointer, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    package func blob(_ column: Int32) -> [UInt8] {
        guard let bytes = unsafe sqlite3_column_blob(pointer, column) else { return [] }
        let count = unsafe Int(sqlite3_column_bytes(pointer, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }

    package func realIfPresent(_ column: Int32) -> Double? { isNull(column) ? nil : real(column) }
    package func textIfPresent(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}
