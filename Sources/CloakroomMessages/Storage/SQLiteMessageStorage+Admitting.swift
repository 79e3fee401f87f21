import CloakroomKit
import CloakroomSQLite
import Foundation

/// A message that comes in, from a peer or from this user.
struct ArrivingMessage: Sendable {
    var draft: MessageDraft
    /// The relay's; `nil` without one.
    var relayTime: Milliseconds?
    var age: Milliseconds = 0
    /// Where what it quotes is in memory, its end.
    var quoted: QuotedTerm?
}

/// What becomes of one.
enum Decision: Sendable {
    case stored(until: Milliseconds?)
    /// For the storage in memory; it is known by its tombstone from now on.
    case inMemory(MessageRecord)
    case arrivedExpired
    case replay
}

extension SQLiteMessageStorage {
    /// Stores messages, all or none.
    ///
    /// - Parameter reading: of the device's clocks.
    func admit(
        _ messages: [ArrivingMessage], reading: RetentionClock.Reading
    ) throws(CloakroomError) -> [Decision] {
        try advance(to: reading)
        var clock = clock
        var plans: [Plan] = []
        for message in messages {
            plans.append(try plan(message, after: plans, clock: &clock))
        }
        try keys.prepare(plans.compactMap(\.keyID))
        var last = try lastSequence()
        for index in plans.indices where plans[index].keyID != nil {
            last += 1
            try plans[index].seal(as: last, with: keys)
        }
        for index in plans.indices {
            plans[index].assetIDs = plans[index].record.draft.attachments.compactMap { $0.assetKey.map { assetID($0) } }
        }
        let written = plans
        try database.transaction { database throws(SQLiteError) in
            for plan in written { try plan.write(in: database) }
            try MessageDatabase.store(clock, in: database)
        }
        self.clock = clock
        return plans.map(\.decision)
    }

    private func plan(
        _ message: ArrivingMessage, after others: [Plan], clock: inout RetentionClock
    ) throws(CloakroomError) -> Plan {
        let draft = message.draft
        let conversation = try requireConversation(draft.conversation)
        let id = rowID(draft.id)
        let isKnown = try database.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT 1 FROM message WHERE id = ?1 UNION ALL SELECT 1 FROM tombstone WHERE id = ?1", [.blob(id)]
            ) { _ in true } ?? false
        }
        let base = clock.base(relayTime: message.relayTime, age: message.age)
        let ownPolicy = reader.flatMap { conversation.state.registers[$0]?.policy } ?? .noStorage
        var record = MessageRecord(
            sequence: 0, draft: draft, base: base, ownPolicy: ownPolicy,
            term: MessageTerm(shared: nil, local: nil, isStored: true))
        guard !isKnown, !others.contains(where: { $0.id == id }) else {
            return Plan(id: id, conversation: conversation.id, record: record, decision: .replay)
        }
        record.term = term(of: record, in: conversation.state, clock)
        var isOver = false
        switch try quoted(by: message, in: conversation, others) {
        case .some(.known(let quoted)): record.term = record.term.quoting(quoted.converted(to: base.clock, clock))
        // Where nothing is stored, what is quoted has gone with its conversation: the stamp says when this one ends.
        case .some(.gone): isOver = record.term.isStored
        case nil: break
        }
        var plan = Plan(
            id: id, conversation: conversation.id, record: record, decision: .stored(until: record.term.local))
        if isOver || clock.trusted.isDue(record.term.local, base: base) {
            plan.decision = .arrivedExpired
        } else if record.term.isStored {
            plan.slot = freeSlot(of: record, in: conversation.id)
        } else {
            plan.decision = .inMemory(record)
        }
        return plan
    }

    private enum Quoted {
        case known(QuotedTerm)
        /// It was purged.
        case gone
    }

    private func quoted(
        by message: ArrivingMessage, in conversation: ConversationRow, _ others: [Plan]
    ) throws(CloakroomError) -> Quoted? {
        guard let quotes = message.draft.quotes else { return nil }
        if let quoted = message.quoted { return .known(quoted) }
        let id = rowID(quotes)
        if let other = others.first(where: { $0.id == id && $0.conversation == conversation.id }) {
            if case .replay = other.decision {
            } else {
                return .known(QuotedTerm(term: other.record.term, clock: other.record.base.clock))
            }
        }
        return try database.perform { database throws(SQLiteError) in
            let row = try database.first(
                "SELECT clock, shared, deadline, seq FROM message WHERE id = ? AND conversation = ?",
                [.blob(id), .integer(conversation.id)]
            ) { row throws(SQLiteError) -> Quoted in
                guard let clock = MessageBase.Clock(rawValue: row.integer(0)) else { throw .corrupt }
                guard row.integer(3) > conversation.deletedThrough else { return .gone }
                let term = MessageTerm(
                    shared: row.integerIfPresent(1), local: row.integerIfPresent(2), isStored: true)
                return .known(QuotedTerm(term: term, clock: clock))
            }
            if let row { return row }
            return try Self.isGone(id, in: database) ? .gone : nil
        }
    }

    /// Whether a message was here and is not any more.
    func isGone(_ id: MessageID) throws(CloakroomError) -> Bool {
        let id = rowID(id)
        return try database.perform { database throws(SQLiteError) in try Self.isGone(id, in: database) }
    }

    private static func isGone(_ id: [UInt8], in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.first("SELECT 1 FROM tombstone WHERE id = ?", [.blob(id)]) { _ in true } ?? false
    }

    private func lastSequence() throws(CloakroomError) -> Int64 {
        try database.perform { database throws(SQLiteError) in
            try database.first("SELECT seq FROM sqlite_sequence WHERE name = 'message'") { $0.integer(0) } ?? 0
        }
    }

    /// The slot of a message's key; another one than that of a key that is about to be dropped.
    func freeSlot(of record: MessageRecord, in conversation: Int64) -> DeadlineSlot {
        var slot = DeadlineSlot(of: record.term.local, policy: record.span)
        while retiring.contains(MessageKeyID(conversation: conversation, slot: slot)) { slot = slot.successor }
        return slot
    }
}

extension MessageRecord {
    /// The time between base and deadline, as a policy.
    var span: MessageRetentionPolicy {
        guard let local = term.local else { return .keep }
        let seconds = min(max(local.minus(base.time) / 1000, 0), MessageRetentionPolicy.longest.components.seconds)
        return MessageRetentionPolicy(afterSent: .seconds(seconds)) ?? .keep
    }
}

/// What is to be written of a message.
private struct Plan: Sendable {
    let id: [UInt8]
    let conversation: Int64
    var record: MessageRecord
    var decision: Decision
    /// Of one that is stored.
    var slot: DeadlineSlot?
    /// Of images that are live again with it.
    var assetIDs: [[UInt8]] = []
    private var sealedBody: [UInt8] = []

    init(id: [UInt8], conversation: Int64, record: MessageRecord, decision: Decision) {
        self.id = id
        self.conversation = conversation
        self.record = record
        self.decision = decision
    }

    var keyID: MessageKeyID? { slot.map { MessageKeyID(conversation: conversation, slot: $0) } }

    mutating func seal(as sequence: Int64, with keys: MessageKeys) throws(CloakroomError) {
        guard let keyID else { return }
        record.sequence = sequence
        sealedBody = try keys.seal(record.draft.body, message: sequence, under: keyID)
    }

    func write(in database: SQLiteDatabase) throws(SQLiteError) {
        switch decision {
        case .replay: break
        case .arrivedExpired:
            try writeTombstone(in: database)
            try database.run(
                "UPDATE conversation SET arrived_expired = arrived_expired + 1 WHERE id = ?", [.integer(conversation)])
        // Nothing else of it is written; without this it would be new each time that it comes.
        case .inMemory: try writeTombstone(in: database)
        case .stored: try writeRow(in: database)
        }
    }

    private func writeTombstone(in database: SQLiteDatabase) throws(SQLiteError) {
        let until = Tombstones.until(record.base, stamp: record.draft.stamp).map { $0 / Milliseconds.day + 1 }
        try database.run(
            "INSERT INTO tombstone (id, until) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
            [.blob(id), SQLiteValue(until)])
    }

    private func writeRow(in database: SQLiteDatabase) throws(SQLiteError) {
        guard let slot else { return }
        try database.run(
            """
            INSERT INTO message (seq, id, name, conversation, author, clock, base, wall_lead, stamp, own_policy, shared,
                deadline, quotes, slot, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(record.sequence), .blob(id), .text(record.draft.id.rawValue), .integer(conversation),
                .text(record.draft.author.rawValue), .integer(record.base.clock.rawValue), .integer(record.base.time),
                .integer(record.base.wallLead), SQLiteValue(record.draft.stamp), SQLiteValue(record.ownPolicy),
                SQLiteValue(record.term.shared), SQLiteValue(record.term.local),
                SQLiteValue(record.draft.quotes?.rawValue), .integer(slot.rawValue), .blob(sealedBody),
            ])
        for id in assetIDs { try database.run("DELETE FROM ended_asset WHERE id = ?", [.blob(id)]) }
        for (position, attachment) in record.draft.attachments.enumerated() {
            try database.run(
                "INSERT INTO attachment (message, position, asset_key, release_token) VALUES (?, ?, ?, ?)",
                [
                    .integer(record.sequence), SQLiteValue(position), SQLiteValue(attachment.assetKey),
                    SQLiteValue(attachment.releaseToken),
                ])
            guard let key = attachment.assetKey else { continue }
            // An image that is here again is not deleted; its token goes with the message that has it.
            try database.run(
                """
                UPDATE attachment SET release_token = ifnull(release_token,
                    (SELECT token FROM release WHERE release.asset_key = attachment.asset_key))
                WHERE message = ? AND position = ?
                """, [.integer(record.sequence), SQLiteValue(position)])
            try database.run("DELETE FROM release WHERE asset_key = ?", [.text(key)])
        }
    }
}
