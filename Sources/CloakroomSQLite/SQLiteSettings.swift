/// How a database is opened.
package struct SQLiteSettings: Sendable {
    /// What has survived once a transaction is done.
    package enum Durability: Sendable {
        /// The end of the process, at any point. After the power failed, the last transactions may be missing; the file is
        /// whole.
        case processEnd
        /// The failure of power, too: each transaction waits for the disk.
        case powerFailure
    }

    /// What becomes of pages that a deletion empties.
    package enum AutoVacuum: Sendable {
        /// They stay with the file, for what comes later.
        case none
        /// `PRAGMA incremental_vacuum` gives them back. It counts for a file that is new, before it has a table.
        case incremental
    }

    package var durability: Durability
    package var autoVacuum: AutoVacuum
    /// Whether zeros are written over what is deleted, in the pages of the database. The log keeps what was there before
    /// until ``SQLiteDatabase/checkpoint(_:)`` has emptied it. `nil`: as the system's SQLite was built.
    package var overwritesDeleted: Bool?
    /// Whether temporary tables and what is sorted stay in memory, never in files outside the database.
    package var keepsTemporariesInMemory: Bool
    /// From how many pages on a commit writes the log back; the next one begins it anew, so it grows little beyond that. `nil`:
    /// SQLite's own 1,000, about 4 MB.
    package var checkpointPages: Int?
    /// How long a call waits, blocking its thread, while another connection writes.
    package var busyTimeout: Duration

    package init(
        durability: Durability = .powerFailure, autoVacuum: AutoVacuum = .none, overwritesDeleted: Bool? = nil,
        keepsTemporariesInMemory: Bool = false, checkpointPages: Int? = nil, busyTimeout: Duration = .seconds(2)
    ) {
        self.durability = durability
        self.autoVacuum = autoVacuum
        self.overwritesDeleted = overwritesDeleted
        self.keepsTemporariesInMemory = keepsTemporariesInMemory
        self.checkpointPages = checkpointPages
        self.busyTimeout = busyTimeout
    }
}

extension SQLiteDatabase {
    func configure(_ settings: SQLiteSettings) throws(SQLiteError) {
        // Before the log: afterwards SQLite ignores it without a word (https://sqlite.org/pragma.html#pragma_auto_vacuum).
        if settings.autoVacuum == .incremental { try run("PRAGMA auto_vacuum = INCREMENTAL") }
        if let overwrites = settings.overwritesDeleted {
            try run("PRAGMA secure_delete = \(overwrites ? "ON" : "OFF")")
        }
        if settings.keepsTemporariesInMemory { try run("PRAGMA temp_store = MEMORY") }
        // Another connection that opens a new file at the same time is about to do this.
        do { try run("PRAGMA journal_mode = WAL") } catch .busy {}
        if let pages = settings.checkpointPages { try run("PRAGMA wal_autocheckpoint = \(pages)") }
        switch settings.durability {
        case .processEnd:
            try run("PRAGMA synchronous = NORMAL")
        case .powerFailure:
            try run("PRAGMA synchronous = FULL")
            // On Apple's systems fsync alone does not reach the medium; elsewhere these say nothing.
            try run("PRAGMA fullfsync = 1")
            try run("PRAGMA checkpoint_fullfsync = 1")
        }
        try run("PRAGMA foreign_keys = 1")
    }
}
