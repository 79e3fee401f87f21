import CSQLite

/// By its own C module of `sqlite3.h`.
public var nameOfGRDB: String { "GRDB with SQLite \(sqlite3_libversion_number())" }
