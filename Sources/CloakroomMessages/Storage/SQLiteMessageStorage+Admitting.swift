import CloakroomKit
import CloakroomSQLite
import Foundation

/// A message that comes in, from a peer or from this user.
struct ArrivingMessage: Sendable {
    var draft: MessageDraft
    /// The relay's; `nil` without one.
    var relayTime: Milliseconds?
    var age: Milliseconds = 0
    /// What it quotes, where that is in memory.
    var quoted: QuotedRecord?
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
        try endFormerImages()
        var clock = try hear(relay: messages.lazy.compactMap(\.relayTime).max())
        var plans: [AdmissionPlan] = []
        // Where those are that the messages after them can quote.
        var places: [[UInt8]: Int] = [:]
        // Before the others are read together, as it may write.
        var rows: [ConversationRow] = []
        plans.reserveCapacity(messages.count)
        places.reserveCapacity(messages.count)
        rows.reserveCapacity(messages.count)
        for message in messages { rows.append(try requireConversation(message.draft.conversation)) }
        try database.reading { () throws(CloakroomError) in
            for (message, conversation) in zip(messages, rows) {
                let plan = try plan(message, in: conversation, after: plans, places, clock: &clock)
                if case .replay = plan.decision {} else { places[plan.id] = plans.count }
                plans.append(plan)
            }
        }
        try keys.prepare(plans.compactMap { $0.keyID ?? $0.noteKeyID })
        var last = try lastSequence()
        for index in plans.indices where plans[index].keyID != nil {
            last += 1
            try plans[index].seal(as: last, with: keys)
        }
        for index in plans.indices { try plans[index].sealNote(with: keys, clock) }
        let written = plans
        var pruning = pruning
        let today = clock.leastShared / Milliseconds.day
        for plan in plans { pruning.add(plan.knownUntil, today: today) }
        let known = pruning
        let heard = clock
        // Those in which a message may be quoted already.
        let quoting = Set(messages.lazy.filter { $0.draft.quotes != nil }.map(\.draft.conversation))
            .union(rows.lazy.filter(\.hasQuotes).map(\.name))
        let haveLowered = try database.transaction { database throws(SQLiteError) in
            for index in written.indices { try write(written[index], in: database) }
            // After all of them: they can quote each other in any order.
            var haveLowered = false
            for index in written.indices where quoting.contains(rows[index].name) {
                if try lowerQuoting(written[index], heard, in: database) { haveLowered = true }
            }
            try Self.store(known, in: database)
            try MessageDatabase.store(heard, in: database)
            return haveLowered
        }
        for name in quoting { conversations[name]?.hasQuotes = true }
        if haveLowered {
            for plan in written { cutChanges[plan.record.draft.conversation, default: 0] += 1 }
            conversations = [:]
        }
        pruning.markWritten()
        self.pruning = pruning
        self.clock = clock
        return plans.map(\.decision)
    }

    private func plan(
        _ message: ArrivingMessage, in conversation: ConversationRow, after others: [AdmissionPlan],
        _ places: [[UInt8]: Int],
        clock: inout RetentionClock
    ) throws(CloakroomError) -> AdmissionPlan {
        var draft = message.draft
        // Only an uploader has a token, and it never travels.
        if draft.author != reader {
            for index in draft.attachments.indices { draft.attachments[index].releaseToken = nil }
        }
        let id = rowID(draft.reference)
        let isKnown = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM known WHERE id = ?", [.blob(id)]) { _ in true } ?? false
        }
        let base = clock.base(relayTime: message.relayTime, age: message.age)
        let ownPolicy = reader.flatMap { conversation.state.registers[$0]?.policy } ?? .noStorage
        var record = MessageRecord(
            sequence: 0, draft: draft, base: base, ownPolicy: ownPolicy,
            term: .endless)
        guard !isKnown, places[id] == nil else {
            return AdmissionPlan(id: id, conversation: conversation.id, record: record, decision: .replay)
        }
        record.term = term(of: record, in: conversation.state, clock)
        var isOver = false
        switch try quoted(by: message, in: conversation, { places[$0].map { QuotedRecord(others[$0].record) } }) {
        case .known(let quoted):
            record.term = record.term.quoting(
                quoted.term.converted(to: base.clock, clock), notBefore: limits.least(after: base.time))
        case .over:
            // Who ended it is not known any more: as if it was a peer.
            let least = limits.least(after: base.time)
            record.term.local = MessageTerm.first(record.term.local, least)
            isOver = least == nil
        case .deleted, nil: break
        }
        var plan = AdmissionPlan(
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

    private func quoted(
        by message: ArrivingMessage, in conversation: ConversationRow, _ other: ([UInt8]) -> QuotedRecord?
    ) throws(CloakroomError) -> QuotedMessage? {
        guard let quotes = message.draft.quotes, quotes.conversation == conversation.name else { return nil }
        if let quoted = message.quoted { return .known(quoted) }
        let id = rowID(quotes)
        if let other = other(id) { return .known(other) }
        return try quoted(id, in: conversation)
    }

    func lastSequence() throws(CloakroomError) -> Int64 {
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
