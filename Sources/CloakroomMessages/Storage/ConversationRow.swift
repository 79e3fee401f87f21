import CloakroomKit
import CloakroomSQLite
import Foundation

/// A conversation, and what its participants have said.
struct ConversationRow: Sendable {
    let id: Int64
    let name: ConversationID
    var members: Set<ParticipantID>
    var state: RetentionState
    /// Messages up to this one are to be purged, whatever their end.
    var deletedThrough: Int64
    /// Messages up to this one that are gone may have been deleted here.
    var lastDeleted: Int64
    /// Stored deadlines do not follow all cuts yet.
    var areCutsPending: Bool
    /// Whether a stored message may quote another one.
    var hasQuotes: Bool
}

extension SQLiteMessageStorage {
    /// - Returns: `nil` for a conversation that nothing is known of.
    func conversation(_ name: ConversationID) throws(CloakroomError) -> ConversationRow? {
        if let known = conversations[name] { return known }
        var row = try database.perform { database throws(SQLiteError) in
            try Self.conversation(name, in: database)
        }
        if let through = unwrittenDeletions[name], let written = row?.deletedThrough {
            row?.deletedThrough = max(through, written)
        }
        // Few of many are in use at a time.
        if conversations.count >= 256 { conversations = [:] }
        conversations[name] = row
        return row
    }

    /// The same; it is made when it is not there.
    func requireConversation(_ name: ConversationID) throws(CloakroomError) -> ConversationRow {
        guard !isErasing else {
            throw CloakroomError(.storeFailed, "the messages are being erased, which has failed: repeat it")
        }
        if let known = try conversation(name) { return known }
        // Not known yet where everything was erased since the opening, or the disk was full at that.
        if let reader { try database.setOwner(reader) }
        try database.perform { database throws(SQLiteError) in
            try database.run("INSERT INTO conversation (name) VALUES (?)", [.text(name.rawValue)])
        }
        guard let made = try conversation(name) else {
            throw CloakroomError(.storeFailed, "a conversation was not recorded")
        }
        return made
    }

    private static func conversation(
        _ name: ConversationID, in database: SQLiteDatabase
    ) throws(SQLiteError) -> ConversationRow? {
        let row = try database.first(
            """
            SELECT id, deleted_through, last_deleted, cuts_pending, EXISTS (SELECT 1 FROM message
                WHERE message.conversation = conversation.id AND quotes IS NOT NULL) FROM conversation WHERE name = ?
            """, [.text(name.rawValue)]
        ) { row in
            ConversationRow(
                id: row.integer(0), name: name, members: [], state: RetentionState(), deletedThrough: row.integer(1),
                lastDeleted: row.integer(2), areCutsPending: row.integer(3) != 0, hasQuotes: row.integer(4) != 0)
        }
        guard var row else { return nil }
        row.members = Set(
            try database.rows("SELECT participant FROM member WHERE conversation = ?", [.integer(row.id)]) {
                $0.text(0)
            }
            .compactMap { ParticipantID(rawValue: $0) })
        let laterVersions = try database.rows(
            "SELECT author FROM later_version WHERE conversation = ?", [.integer(row.id)]
        ) { $0.text(0) }
        row.state = RetentionState(
            registers: try registers(row.id, in: database),
            laterVersions: Set(laterVersions.compactMap { ParticipantID(rawValue: $0) }))
        return row
    }

    // MARK: Registers

    private static func registers(
        _ conversation: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [ParticipantID: RetentionRegister] {
        var registers: [ParticipantID: RetentionRegister] = [:]
        try database.forEach(
            "SELECT author, version, legacy_time, after_sent FROM register WHERE conversation = ?",
            [.integer(conversation)]
        ) { row throws(SQLiteError) in
            guard let author = ParticipantID(rawValue: row.text(0)), let policy = row.policy(3) else { throw .corrupt }
            let version = RegisterVersion(row.integer(1)) ?? RegisterVersion(legacyTime: row.integer(2))
            registers[author] = RetentionRegister(version: version, policy: policy)
            return true
        }
        try database.forEach(
            "SELECT author, after_sent, before FROM cut WHERE conversation = ?", [.integer(conversation)]
        ) { row throws(SQLiteError) in
            guard let author = ParticipantID(rawValue: row.text(0)) else { throw .corrupt }
            registers[author]?.cuts.add(RetentionCuts.Cut(seconds: row.integer(1), before: row.integer(2)))
            return true
        }
        return registers
    }

    /// Joins what one participant says into what is known, and records it.
    ///
    /// - Parameters:
    ///   - certain: which of its cuts are by a time that all share; `nil`: all of them.
    ///   - uncertain: which of them are not, and follow it as it becomes known.
    /// - Returns: whether it said anything new.
    @discardableResult
    func join(
        _ register: RetentionRegister, of author: ParticipantID, in name: ConversationID, certain: RetentionCuts? = nil,
        uncertain: RetentionCuts = RetentionCuts()
    ) throws(CloakroomError) -> Bool {
        var conversation = try requireConversation(name)
        if conversation.state.laterVersions.remove(author) != nil {
            try database.perform { database throws(SQLiteError) in
                try database.run(
                    "DELETE FROM later_version WHERE conversation = ? AND author = ?",
                    [.integer(conversation.id), .text(author.rawValue)])
            }
        }
        let former = conversation.state.registers[author]
        guard conversation.state.join(register, of: author), let joined = conversation.state.registers[author] else {
            conversations[name] = conversation
            return false
        }
        let cutsDeeper = joined.cuts != (former?.cuts ?? RetentionCuts())
        if cutsDeeper { conversation.areCutsPending = true }
        try database.transaction { database throws(SQLiteError) in
            try Self.store(joined, of: author, in: conversation.id, database)
            try Self.store(
                certain: certain ?? register.cuts, uncertain: uncertain, of: author, in: conversation.id, database)
            if cutsDeeper {
                try database.run("UPDATE conversation SET cuts_pending = 1 WHERE id = ?", [.integer(conversation.id)])
            }
            try MessageDatabase.store(clock, in: database)
        }
        conversations[name] = conversation
        if cutsDeeper { cutChanges[name, default: 0] += 1 }
        return true
    }

    private static func store(
        _ register: RetentionRegister, of author: ParticipantID, in conversation: Int64, _ database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            """
            INSERT INTO register (conversation, author, version, legacy_time, after_sent) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (conversation, author) DO UPDATE
            SET version = excluded.version, legacy_time = excluded.legacy_time, after_sent = excluded.after_sent
            """,
            [
                .integer(conversation), .text(author.rawValue), .integer(register.version.number),
                .integer(register.version.legacyTime), SQLiteValue(register.policy),
            ])
    }

    private static func store(
        certain: RetentionCuts, uncertain: RetentionCuts, of author: ParticipantID, in conversation: Int64,
        _ database: SQLiteDatabase
    ) throws(SQLiteError) {
        for (cuts, isCertain) in [(certain, true), (uncertain, false)] {
            for cut in cuts.all {
                let values: [SQLiteValue] = [
                    .integer(conversation), .text(author.rawValue), .integer(cut.seconds), .integer(cut.before),
                ]
                try database.run(
                    """
                    INSERT INTO cut (conversation, author, after_sent, before, certain)
                    VALUES (?1, ?2, ?3, ?4, \(isCertain ? "?4" : "0")) ON CONFLICT (conversation, author, after_sent)
                    DO UPDATE SET before = max(before, excluded.before), certain = max(certain, excluded.certain)
                    """, values)
                guard !isCertain else { continue }
                try database.run(
                    """
                    INSERT INTO uncertain_cut (conversation, author, after_sent, before) VALUES (?1, ?2, ?3, ?4)
                    ON CONFLICT (conversation, author, after_sent) DO UPDATE SET before = max(before, excluded.before)
                    """, values)
            }
        }
    }

    /// This user's cuts that are not certain follow a time that is known better: what they are before was received by the
    /// same clock.
    ///
    /// - Parameter areCertain: whether that is the server's time, and they are certain from now on.
    static func moveUncertainCuts(
        by difference: Milliseconds, areCertain: Bool, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        // One that reaches further binds more messages.
        if difference > 0 {
            try database.run(
                """
                UPDATE conversation SET cuts_pending = 1 WHERE id IN (SELECT conversation FROM uncertain_cut)
                """)
        }
        try database.run(
            "UPDATE uncertain_cut SET before = max(min(before + ?, ?), 0)",
            [.integer(difference), .integer(.latestTime)])
        try database.run(
            """
            UPDATE cut SET before = max(certain, uncertain_cut.before) FROM uncertain_cut
            WHERE uncertain_cut.conversation = cut.conversation AND uncertain_cut.author = cut.author
                AND uncertain_cut.after_sent = cut.after_sent
            """)
        guard areCertain else { return }
        try database.run("UPDATE cut SET certain = before WHERE before > certain")
        try database.run("DELETE FROM uncertain_cut")
    }

    /// A message of a later version: what its author wants now is unknown.
    func noteLaterVersion(of author: ParticipantID, in name: ConversationID) throws(CloakroomError) {
        var conversation = try requireConversation(name)
        guard conversation.state.laterVersions.insert(author).inserted else { return }
        try database.perform { database throws(SQLiteError) in
            try database.run(
                "INSERT INTO later_version (conversation, author) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [.integer(conversation.id), .text(author.rawValue)])
        }
        conversations[name] = conversation
    }

    // MARK: Members

    func setMembers(_ members: Set<ParticipantID>, of name: ConversationID) throws(CloakroomError) {
        var conversation = try requireConversation(name)
        guard conversation.members != members else { return }
        try database.transaction { database throws(SQLiteError) in
            try database.run("DELETE FROM member WHERE conversation = ?", [.integer(conversation.id)])
            for member in members {
                try database.run(
                    "INSERT INTO member (conversation, participant) VALUES (?, ?)",
                    [.integer(conversation.id), .text(member.rawValue)])
            }
        }
        conversation.members = members
        conversations[name] = conversation
    }

    // MARK: Messages that came too late

    func arrivedExpired(in name: ConversationID) throws(CloakroomError) -> Int {
        let count = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT arrived_expired FROM conversation WHERE name = ?", [.text(name.rawValue)]) {
                $0.integer(0)
            }
        }
        return Int(count ?? 0)
    }
}
