extension SQLiteDatabase {
    /// Brings the schema up to date: runs the scripts that this file has not seen, each in a transaction with its number.
    ///
    /// What was published once must not change: later versions append.
    ///
    /// - Parameter scripts: all there ever were, in order; `PRAGMA user_version` counts those that were run.
    /// - Throws: ``SQLiteError/newer(userVersion:)`` when the file has seen more.
    package func migrate(_ scripts: [String]) throws(SQLiteError) {
        guard try pendingMigrations(of: scripts) > 0 else { return }
        // Read again inside the transaction: another process may have been here meanwhile.
        try transaction { () throws(SQLiteError) in
            for number in try userVersion..<scripts.count { try run(script: scripts[number]) }
            try run(script: "PRAGMA user_version = \(scripts.count)")
        }
    }

    /// How many migrations the file has seen.
    package var userVersion: Int {
        get throws(SQLiteError) { try first("PRAGMA user_version") { row in Int(row.integer(0)) } ?? 0 }
    }

    private func pendingMigrations(of scripts: [String]) throws(SQLiteError) -> Int {
        let version = try userVersion
        guard version <= scripts.count else { throw .newer(userVersion: version) }
        return scripts.count - version
    }
}
