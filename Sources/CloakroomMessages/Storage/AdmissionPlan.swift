import CloakroomKit
import CloakroomSQLite
import Foundation

/// What is to be written of a message.
struct AdmissionPlan: Sendable {
    let id: [UInt8]
    let conversation: Int64
    var record: MessageRecord
    var decision: Decision
    /// Of one that is stored.
    var slot: DeadlineSlot?
    private var sealedBody: [UInt8] = []
    /// Of one in memory.
    private var sealedNote: [UInt8] = []

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

    /// Of one in memory.
    var noteKeyID: MessageKeyID? {
        guard case .inMemory = decision else { return nil }
        return MemoryNote.keyID(conversation)
    }

    mutating func sealNote(with keys: MessageKeys, _ clock: RetentionClock) throws(CloakroomError) {
        guard let key = noteKeyID.flatMap({ keys.key($0) }) else { return }
        let time = ReleaseTime(
            end: record.term.shared, by: record.base.clock, stamp: record.draft.stamp, clock)
        sealedNote = try MemoryNote(record.draft, releasedAt: time).sealed(as: id, with: key)
    }

    fileprivate func write(in database: SQLiteDatabase) throws(SQLiteError) {
        switch decision {
        case .replay: break
        case .arrivedExpired:
            try writeKnown(in: database)
            try database.run(
                "UPDATE conversation SET arrived_expired = arrived_expired + 1 WHERE id = ?", [.integer(conversation)])
        // Without this it would be new each time that it comes.
        case .inMemory:
            try writeKnown(in: database)
            try database.run(
                "INSERT INTO memory_note (id, conversation, content) VALUES (?, ?, ?)",
                [.blob(id), .integer(conversation), .blob(sealedNote)])
        case .stored: try writeRow(in: database)
        }
    }

    /// The last day for which it has to be known, since 1970; `nil`: for ever, or known already.
    var knownUntil: Int64? {
        if case .replay = decision { return nil }
        return Tombstones.lastDay(record.base, stamp: record.draft.stamp)
    }

    private func writeKnown(in database: SQLiteDatabase) throws(SQLiteError) {
        let sequence: SQLiteValue =
            switch decision {
            case .stored: .integer(record.sequence)
            case .inMemory: .integer(Self.sequenceInMemory)
            case .arrivedExpired, .replay: .null
            }
        try database.run(
            "INSERT INTO known (id, seq, until) VALUES (?, ?, ?)", [.blob(id), sequence, SQLiteValue(knownUntil)])
    }

    /// Rows of messages count from 1. Of those that the user deletes one by one it is this, too.
    static let sequenceInMemory: Int64 = 0

    private func writeRow(in database: SQLiteDatabase) throws(SQLiteError) {
        guard let slot else { return }
        try writeKnown(in: database)
        try database.run(
            """
            INSERT INTO message (seq, name, conversation, author, clock, base, wall_lead, set_ahead, stamp, own_policy,
                shared, deadline, own_end, quotes, quotes_author, slot, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(record.sequence), .text(record.draft.id.rawValue), .integer(conversation),
                .text(record.draft.author.rawValue), .integer(record.base.clock.rawValue), .integer(record.base.time),
                .integer(record.base.wallLead), .integer(record.base.setAhead), SQLiteValue(record.draft.stamp),
                SQLiteValue(record.ownPolicy), SQLiteValue(record.term.shared), SQLiteValue(record.term.local),
                SQLiteValue(record.term.own),
                SQLiteValue(record.draft.quotes?.id.rawValue), SQLiteValue(record.draft.quotes?.author.rawValue),
                .integer(slot.rawValue), .blob(sealedBody),
            ])
        for (position, attachment) in record.draft.attachments.enumerated() {
            try database.run(
                "INSERT INTO attachment (message, position, asset_key, release_token) VALUES (?, ?, ?, ?)",
                [
                    .integer(record.sequence), SQLiteValue(position), SQLiteValue(attachment.assetKey),
                    SQLiteValue(attachment.releaseToken),
                ])
        }
    }
}

extension SQLiteMessageStorage {
    func write(_ plan: AdmissionPlan, in database: SQLiteDatabase) throws(SQLiteError) {
        try plan.write(in: database)
        let isOwn = plan.record.draft.author == reader
        for key in plan.record.draft.attachments.compactMap(\.assetKey) {
            switch plan.decision {
            case .replay, .arrivedExpired: return
            case .inMemory: try attach(key, isOwn: isOwn, inMemory: plan.id, in: database)
            case .stored: try attach(key, isOwn: isOwn, in: database)
            }
        }
    }
}
