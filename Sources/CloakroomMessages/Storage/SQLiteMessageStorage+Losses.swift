import CloakroomKit
import CloakroomSQLite

extension SQLiteMessageStorage {
    /// Messages that were over for certain when they were lost do not come back, though what they were known by is lost, too.
    ///
    /// The others may: one that arrives again is the same message, with the same end.
    func rememberEnded() throws(CloakroomError) {
        let times = clock.trusted
        let ended = try database.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT message.name, author, conversation.name, clock, base, stamp FROM message
                JOIN conversation ON conversation.id = message.conversation
                WHERE seq <= deleted_through AND deadline IS NOT NULL AND \(ClockTimes.condition)
                """, times.values
            ) { row in (reference: MessageReference(row, from: 0), until: Self.knownUntil(row)) }
        }
        guard !ended.isEmpty else { return }
        var pruning = pruning
        let today = clock.leastShared / Milliseconds.day
        for message in ended { pruning.add(message.until, today: today) }
        let known = pruning
        try database.transaction { database throws(SQLiteError) in
            for message in ended {
                guard let reference = message.reference else { continue }
                try database.run(
                    "INSERT INTO known (id, seq, until) VALUES (?, NULL, ?) ON CONFLICT DO NOTHING",
                    [.blob(rowID(reference)), SQLiteValue(message.until)])
            }
            try Self.store(known, in: database)
        }
        pruning.markWritten()
        self.pruning = pruning
    }

    /// As ``AdmissionPlan/knownUntil``, of the fourth column and the two after it: the clock, the base and the stamp.
    private static func knownUntil(_ row: borrowing SQLiteRow) -> Int64? {
        guard let clock = MessageBase.Clock(rawValue: row.integer(3)), let stamp = row.policy(5) else { return nil }
        return Tombstones.lastDay(MessageBase(time: row.integer(4), clock: clock), stamp: stamp)
    }
}
