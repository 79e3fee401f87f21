import CloakroomKit
import CloakroomSQLite
import Foundation

/// Messages that are purged together.
struct PurgeBatch: Sendable {
    var count: Int
    /// Empty where no handler needs them.
    var messages: [MessageReference]
    var files: [AttachmentFile]
    /// Images of which the app's cache is to have nothing.
    var cachedKeys: [String]
    /// Images that no longer count as one of a message.
    var endedKeys: [String]
    /// Images of this user's messages.
    var ownKeys: [String]
}

/// Steps 1 to 6: a batch at a time, each short enough that other writers need not wait.
extension SQLiteMessageStorage {
    /// The batch that is in the journal; without one, some of what is due is put into it.
    ///
    /// - Parameter needsReferences: whether handlers wait for them.
    /// - Returns: `nil` when nothing is due.
    func nextBatch(limit: Int, needsReferences: Bool) throws -> PurgeBatch? {
        if try journaledCount() == 0 {
            try step(.journaled(.before))
            guard try journal(limit: limit) else { return nil }
            try step(.journaled(.after))
        }
        return try database.perform { database throws(SQLiteError) in
            try batch(in: database, needsReferences: needsReferences)
        }
    }

    private func journaledCount() throws(CloakroomError) -> Int64 {
        try database.perform { database throws(SQLiteError) in
            try database.first("SELECT count(*) FROM condemned") { $0.integer(0) } ?? 0
        }
    }

    /// Puts messages that are certainly over into the journal.
    ///
    /// - Returns: whether there were any.
    private func journal(limit: Int) throws(CloakroomError) -> Bool {
        let state = clock
        return try database.transaction { database throws(SQLiteError) in
            try Self.journal(limit: limit, state, in: database)
        }
    }

    private static func journal(
        limit: Int, _ clock: RetentionClock, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        let times = clock.trusted
        var count = 0
        func condemn(_ condition: String, _ values: [SQLiteValue]) throws(SQLiteError) {
            guard count < limit else { return }
            count += try database.run(
                """
                INSERT INTO condemned (seq) SELECT seq FROM message WHERE \(condition) LIMIT ?
                ON CONFLICT (seq) DO NOTHING
                """, values + [SQLiteValue(limit - count)])
        }
        try condemn(ClockTimes.sharedCondition, [.integer(times.shared)])
        try condemn(ClockTimes.deviceCondition, [.integer(times.device)])
        try condemn(ClockTimes.steadyCondition, [.integer(times.lastClockOnWall), .integer(times.steady)])
        let deleted = try database.rows("SELECT id, deleted_through FROM conversation WHERE deleted_through > 0") {
            ($0.integer(0), $0.integer(1))
        }
        for (conversation, through) in deleted {
            let before = count
            try condemn(
                "conversation = ? AND seq <= ? AND seq NOT IN (SELECT seq FROM condemned)",
                [.integer(conversation), .integer(through)])
            guard count == before, count < limit else { continue }
            try database.run("UPDATE conversation SET deleted_through = 0 WHERE id = ?", [.integer(conversation)])
        }
        if count > 0 {
            try database.run("INSERT INTO purge (id, step) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET step = 1")
            try MessageDatabase.store(clock, in: database)
        }
        return count > 0
    }

    private func batch(
        in database: SQLiteDatabase, needsReferences: Bool
    ) throws(SQLiteError) -> PurgeBatch {
        let count = try database.first("SELECT count(*) FROM condemned") { Int($0.integer(0)) } ?? 0
        let messages =
            needsReferences
            ? try database.rows(
                """
                SELECT message.name, author, conversation.name FROM condemned CROSS JOIN message USING (seq)
                JOIN conversation ON conversation.id = message.conversation
                """
            ) { MessageReference($0, from: 0) } : []
        let attachments = try database.rows(
            """
            SELECT file, asset_key, author FROM condemned CROSS JOIN attachment ON attachment.message = condemned.seq
            CROSS JOIN message ON message.seq = condemned.seq
            """
        ) { ($0.textIfPresent(0), $0.textIfPresent(1), $0.text(2)) }
        var images: ImageKeys = [:]
        for case (_, let key?, let author) in attachments {
            images[key, default: false] = images[key] == true || author == reader?.rawValue
        }
        let (cached, ended) = try divide(images, in: database)
        return PurgeBatch(
            count: count, messages: messages.compactMap { $0 },
            files: attachments.compactMap { $0.0.flatMap { AttachmentFile(rawValue: $0) } }, cachedKeys: cached,
            endedKeys: ended, ownKeys: images.filter(\.value).keys.sorted())
    }

    /// Removes the files of a batch.
    func removeFiles(of batch: PurgeBatch) throws(CloakroomError) {
        for file in batch.files { try files.remove(file) }
    }

    /// Records which images the bucket is to delete.
    ///
    /// - Returns: how many.
    func journalReleases(of batch: PurgeBatch) throws(CloakroomError) -> Int {
        guard !batch.endedKeys.isEmpty || !batch.ownKeys.isEmpty else { return 0 }
        return try database.transaction { database throws(SQLiteError) in
            // A message with the same image may have come since the batch was made.
            let ended = try divide(
                ImageKeys(batch.endedKeys.map { ($0, batch.ownKeys.contains($0)) }) { $0 || $1 }, in: database
            ).ended
            for key in ended { try end(key, in: database) }
            var count = 0
            for key in batch.ownKeys {
                var (token, time): (String?, ReleaseTime) = (nil, .atOnce)
                try database.forEach(
                    """
                    SELECT release_token, shared, clock, stamp FROM condemned
                    CROSS JOIN attachment ON attachment.message = condemned.seq
                    CROSS JOIN message ON message.seq = condemned.seq WHERE asset_key = ? AND author = ?
                    """, [.text(key), .text(reader?.rawValue ?? "")]
                ) { row throws(SQLiteError) in
                    guard let own = MessageBase.Clock(rawValue: row.integer(2)), let stamp = row.policy(3) else {
                        throw .corrupt
                    }
                    token = token ?? row.textIfPresent(0)
                    time = max(time, ReleaseTime(end: row.integerIfPresent(1), by: own, stamp: stamp, clock))
                    return true
                }
                if try release(key, token, at: time, in: database) { count += 1 }
            }
            return count
        }
    }

    /// Deletes the rows of the batch; the same transaction begins the next batch. Their tombstones are there since they came.
    ///
    /// It does not wait for the disk: rows that are back after the power failed are over, and are purged again.
    ///
    /// - Returns: how long others could not write.
    func removeRows(of batch: PurgeBatch, journalingNext limit: Int) throws(CloakroomError) -> Duration {
        let times = clock.trusted
        let state = clock
        let start = ContinuousClock.now
        let left = try database.repeatableTransaction { database throws(SQLiteError) in
            let early = try database.rows(Self.earlySQL, [.integer(times.shared), .integer(times.device)]) { row in
                MessageKeyID(conversation: row.integer(0), slot: DeadlineSlot(rawValue: row.integer(1)))
            }
            for id in early { try MessageDatabase.retire(id, in: database) }
            try database.run("DELETE FROM message WHERE seq IN (SELECT seq FROM condemned)")
            try database.run("DELETE FROM condemned")
            try database.run("UPDATE purge SET step = 6")
            _ = try Self.journal(limit: limit, state, in: database)
            return early
        }
        let duration = ContinuousClock.now - start
        retiring.formUnion(left)
        unwrittenBatches += 1
        if unwrittenBatches >= Self.mostUnwrittenBatches {
            // Whatever it cannot do now is done by the next one.
            _ = try database.perform { database throws(SQLiteError) in try database.checkpoint(.passive) }
            unwrittenBatches = 0
        }
        return duration
    }

    /// Batches that are deleted until the log is written back: a log of some 50 MB. The one who writes first afterwards
    /// begins the log anew, and waits for the disk with the lock: the longest that others wait for it.
    private static let mostUnwrittenBatches = 32

    /// Keys that sealed messages of the batch, and that last longer than a slot is wide.
    private static let earlySQL = """
        SELECT DISTINCT conversation, slot FROM condemned CROSS JOIN message USING (seq)
        WHERE slot > \(Int64.max - 1_000_000_000) OR slot * 1000 - CASE WHEN clock < 2 THEN ?1 ELSE ?2 END
            > max(60000, (ifnull(deadline, base) - base) / 16) + 2000
        """
}
