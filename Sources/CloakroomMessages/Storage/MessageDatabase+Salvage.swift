import CloakroomCrypto
import CloakroomSQLite
import Foundation

/// What a new database takes over from the damaged one whose place it takes, as far as that can be read: what
/// participants want, the time, whose it is, what is not to come back, images that wait to be released, and the names of
/// messages, to be purged. Their bodies stay where they are.
extension MessageDatabase {
    /// - Parameter file: of the damaged one.
    /// - Returns: whether all policies could be read.
    func takeOver(from file: URL) throws(SQLiteError) -> Bool {
        guard let damaged = try DamagedDatabase(at: file) else { return false }
        var conversations: [Int64: Int64] = [:]
        var areAllPolicies = try damaged.forEach("SELECT id, name, arrived_expired FROM conversation") {
            row throws(SQLiteError) in
            guard ConversationID(rawValue: row.text(1)) != nil else { return }
            conversations[row.integer(0)] = try addConversation(row.text(1), arrivedExpired: max(0, row.integer(2)))
        }
        let numbers = conversations
        if try !takePolicies(from: damaged, numbers) { areAllPolicies = false }
        _ = try damaged.forEach("SELECT state FROM clock WHERE id = 1") { row throws(SQLiteError) in
            try database.run(
                "INSERT INTO clock (id, state) VALUES (1, ?) ON CONFLICT DO NOTHING", [.text(row.text(0))])
        }
        _ = try damaged.forEach("SELECT digest FROM owner") { row throws(SQLiteError) in
            let digest = row.blob(0)
            if digest.count == SHA256.byteCount { try Self.setOwner(digest, in: database) }
        }
        try takeMessages(from: damaged, numbers)
        try takeImages(from: damaged)
        return areAllPolicies
    }

    /// - Returns: its number here.
    private func addConversation(_ name: String, arrivedExpired: Int64) throws(SQLiteError) -> Int64? {
        try database.run(
            "INSERT INTO conversation (name, arrived_expired) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.text(name), .integer(arrivedExpired)])
        return try database.first("SELECT id FROM conversation WHERE name = ?", [.text(name)]) { $0.integer(0) }
    }

    // MARK: Policies

    /// - Parameter conversations: numbers of the damaged database, and those here.
    private func takePolicies(
        from damaged: DamagedDatabase, _ conversations: [Int64: Int64]
    ) throws(SQLiteError) -> Bool {
        let areMembers = try takeNames(from: damaged, "member", "participant", conversations)
        let areRegisters = try damaged.forEach(
            "SELECT conversation, author, version, legacy_time, after_sent FROM register"
        ) { row throws(SQLiteError) in
            guard let conversation = conversations[row.integer(0)], ParticipantID(rawValue: row.text(1)) != nil,
                (0...RegisterVersion.last).contains(row.integer(2)), let policy = row.policy(4)
            else { return }
            try database.run(
                """
                INSERT INTO register (conversation, author, version, legacy_time, after_sent) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                [
                    .integer(conversation), .text(row.text(1)), .integer(row.integer(2)),
                    .integer(row.integer(3).asTime), SQLiteValue(policy),
                ])
        }
        let areCuts = try takeCuts(from: damaged, "cut", "before, certain", conversations)
        // Without these cuts are where they are, and what a later version of the protocol says is heard again.
        _ = try takeCuts(from: damaged, "uncertain_cut", "before", conversations)
        _ = try takeNames(from: damaged, "later_version", "author", conversations)
        return areMembers && areRegisters && areCuts
    }

    /// - Parameters:
    ///   - table: one of participants in conversations.
    ///   - column: with their names.
    private func takeNames(
        from damaged: DamagedDatabase, _ table: String, _ column: String, _ conversations: [Int64: Int64]
    ) throws(SQLiteError) -> Bool {
        try damaged.forEach("SELECT conversation, \(column) FROM \(table)") { row throws(SQLiteError) in
            guard let conversation = conversations[row.integer(0)], ParticipantID(rawValue: row.text(1)) != nil else {
                return
            }
            try database.run(
                "INSERT INTO \(table) (conversation, \(column)) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [.integer(conversation), .text(row.text(1))])
        }
    }

    /// - Parameter times: its columns of times.
    private func takeCuts(
        from damaged: DamagedDatabase, _ table: String, _ times: String, _ conversations: [Int64: Int64]
    ) throws(SQLiteError) -> Bool {
        let columns = "conversation, author, after_sent, \(times)"
        let count = Int32(times.split(separator: ",").count)
        return try damaged.forEach("SELECT \(columns) FROM \(table)") { row throws(SQLiteError) in
            guard let conversation = conversations[row.integer(0)], ParticipantID(rawValue: row.text(1)) != nil,
                RetentionCuts.durations.contains(row.integer(2))
            else { return }
            var values: [SQLiteValue] = [.integer(conversation), .text(row.text(1)), .integer(row.integer(2))]
            for column in 3..<3 + count { values.append(.integer(row.integer(column).asTime)) }
            let places = values.map { _ in "?" }.joined(separator: ", ")
            try database.run("INSERT INTO \(table) (\(columns)) VALUES (\(places)) ON CONFLICT DO NOTHING", values)
        }
    }

    // MARK: Messages

    /// Messages are lost with the damaged database, and as if they had been deleted here; those that were purged before
    /// stay known.
    private func takeMessages(
        from damaged: DamagedDatabase, _ conversations: [Int64: Int64]
    ) throws(SQLiteError) {
        var last: Int64 = 0
        _ = try damaged.forEach(
            """
            SELECT seq, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared, deadline, slot
            FROM message
            """
        ) { row throws(SQLiteError) in
            let sequence = row.integer(0)
            guard Self.sequences.contains(sequence), MessageID(rawValue: row.text(1)) != nil,
                let conversation = conversations[row.integer(2)], ParticipantID(rawValue: row.text(3)) != nil,
                MessageBase.Clock(rawValue: row.integer(4)) != nil, let stamp = row.policy(7),
                let ownPolicy = row.policy(8)
            else { return }
            last = max(last, sequence)
            let deadline = SQLiteValue(row.integerIfPresent(10))
            try database.run(
                """
                INSERT INTO message (seq, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared,
                    deadline, own_end, slot, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, zeroblob(0))
                ON CONFLICT DO NOTHING
                """,
                [
                    .integer(sequence), .text(row.text(1)), .integer(conversation), .text(row.text(3)),
                    .integer(row.integer(4)), .integer(row.integer(5)), .integer(row.integer(6)), SQLiteValue(stamp),
                    SQLiteValue(ownPolicy), SQLiteValue(row.integerIfPresent(9)), deadline, deadline,
                    .integer(row.integer(11)),
                ])
        }
        // Their files stay with the damaged database.
        _ = try damaged.forEach(
            "SELECT message, position, asset_key, release_token FROM attachment WHERE asset_key IS NOT NULL"
        ) { row throws(SQLiteError) in
            try database.run(
                """
                INSERT INTO attachment (message, position, asset_key, release_token)
                SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM message WHERE seq = ?1) ON CONFLICT DO NOTHING
                """,
                [
                    .integer(row.integer(0)), .integer(row.integer(1)), .text(row.text(2)),
                    SQLiteValue(row.textIfPresent(3)),
                ])
        }
        _ = try damaged.forEach("SELECT id, seq, until FROM known") { row throws(SQLiteError) in
            let sequence = row.integerIfPresent(1).flatMap { (0...Self.sequences.upperBound).contains($0) ? $0 : nil }
            last = max(last, sequence ?? 0)
            // A message that was here can come again.
            try database.run(
                """
                INSERT INTO known (id, seq, until)
                SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM message WHERE seq = ?2) ON CONFLICT DO NOTHING
                """, [.blob(row.blob(0)), SQLiteValue(sequence), SQLiteValue(row.integerIfPresent(2))])
        }
        _ = try damaged.forEach("SELECT seq FROM sqlite_sequence WHERE name = 'message'") { row throws(SQLiteError) in
            if Self.sequences.contains(row.integer(0)) { last = max(last, row.integer(0)) }
        }
        try database.run("DELETE FROM sqlite_sequence WHERE name = 'message'")
        // What is known by a number must not be another message.
        try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('message', ?)", [.integer(last)])
        try Self.deleteAll(in: database)
        try database.run(
            """
            INSERT INTO needless (id, day)
            SELECT 1, day FROM (SELECT min(until) AS day FROM known) WHERE day IS NOT NULL
            """)
    }

    /// Numbers that messages can have; a larger one would leave none for those that come.
    private static let sequences: ClosedRange<Int64> = 1...1 << 53

    // MARK: Images

    private func takeImages(from damaged: DamagedDatabase) throws(SQLiteError) {
        _ = try damaged.forEach("SELECT asset_key, token, attempts, retry_at, not_before FROM release") {
            row throws(SQLiteError) in
            try database.run(
                """
                INSERT INTO release (asset_key, token, attempts, retry_at, not_before) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                [
                    .text(row.text(0)), .text(row.text(1)), .integer(max(0, row.integer(2))), .integer(row.integer(3)),
                    .integer(row.integer(4)),
                ])
        }
        _ = try damaged.forEach("SELECT id FROM ended_asset") { row throws(SQLiteError) in
            try database.run("INSERT INTO ended_asset (id) VALUES (?) ON CONFLICT DO NOTHING", [.blob(row.blob(0))])
        }
    }
}

/// A database that may be damaged anywhere.
private struct DamagedDatabase {
    private let database: SQLiteDatabase

    /// - Returns: `nil` for one of which nothing can be read.
    init?(at file: URL) throws(SQLiteError) {
        do throws(SQLiteError) { database = try SQLiteDatabase(at: file.path) } catch {
            switch error {
            // Another attempt may succeed.
            case .full, .busy: throw error
            case .corrupt, .readOnly, .newer, .other: return nil
            }
        }
    }

    /// Reads rows until there are no more, or none can be read.
    ///
    /// - Parameter body: what it throws is not about this database.
    /// - Returns: whether all could be read.
    func forEach(
        _ sql: String, _ body: (borrowing SQLiteRow) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        var failure: SQLiteError?
        do throws(SQLiteError) {
            try database.forEach(sql) { row throws(SQLiteError) in
                do throws(SQLiteError) { try body(row) } catch { failure = error }
                return failure == nil
            }
        } catch {
            return false
        }
        if let failure { throw failure }
        return true
    }
}
