extension SQLiteDatabase {
    /// How far the log is written back (https://sqlite.org/pragma.html#pragma_wal_checkpoint).
    package enum CheckpointMode: String, Sendable {
        /// As far as it can be without waiting.
        case passive = "PASSIVE"
        /// All of it, and the log's file is emptied: what was in it is in no file any more. While it waits for readers, as
        /// long as the busy timeout, nothing else can write.
        case truncate = "TRUNCATE"
    }

    /// What a checkpoint did.
    package struct Checkpoint: Sendable, Equatable {
        /// Another connection reads or writes: the log was not emptied, and the checkpoint is to be repeated.
        package let isBusy: Bool
        /// Pages in the log, and how many of them are in the database's file by now; 0 and 0 for an empty log.
        package let logPages: Int
        package let writtenPages: Int
    }

    /// Writes the log back to the database's file.
    ///
    /// - Returns: also for one that readers or writers kept from its end: that is no error.
    /// - Throws: ``SQLiteError``, such as ``SQLiteError/full``; ``SQLiteError/busy`` inside a transaction.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> Checkpoint {
        let result = try first("PRAGMA wal_checkpoint(\(mode.rawValue))") { row in
            // Without a log both numbers are -1.
            Checkpoint(
                isBusy: row.integer(0) != 0, logPages: max(0, Int(row.integer(1))),
                writtenPages: max(0, Int(row.integer(2))))
        }
        guard let result else { throw Self.closed }
        return result
    }
}
