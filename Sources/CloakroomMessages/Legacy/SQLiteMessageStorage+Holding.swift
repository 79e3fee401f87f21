import CloakroomKit
import CloakroomSQLite
import Foundation

/// A message of a file, with what it is to be admitted with.
struct LegacyCandidate: Sendable {
    var message: IncomingMessage
    /// By the end that it had, or by the policies.
    var isOver: Bool
}

/// What the storage has of it.
enum LegacyHolding: Sendable, Equatable {
    /// Nothing; `until` is when it would end, by all that its conversation knows; `nil`: no end.
    case nothing(until: Milliseconds?)
    /// Nothing, and it would be over when it is admitted.
    case nothingAndOver
    /// A row that opens, with the same body.
    case stored
    /// A row with another body.
    case conflicting
    /// It was here, and was purged or deleted.
    case gone
    /// It is in memory, would be, or its row does not open.
    case notStored
}

extension SQLiteMessageStorage {
    /// Changes nothing.
    func holdings(of candidates: [LegacyCandidate]) throws(CloakroomError) -> [LegacyHolding] {
        var holdings: [LegacyHolding] = []
        try database.reading { () throws(CloakroomError) in
            for candidate in candidates { holdings.append(try holding(of: candidate)) }
        }
        return holdings
    }

    private func holding(of candidate: LegacyCandidate) throws(CloakroomError) -> LegacyHolding {
        let message = candidate.message
        let id = rowID(message.reference)
        if let (row, conversation) = try row(id) {
            guard row.record.sequence > conversation.deletedThrough else { return .gone }
            guard let body = keys.open(row.body, message: row.record.sequence, under: row.keyID) else {
                return .notStored
            }
            return Data(body) == message.body ? .stored : .conflicting
        }
        if try isInMemory(id) { return .notStored }
        if try isGone(id) { return .gone }
        return try candidate.isOver ? .nothingAndOver : term(of: message)
    }

    /// Without making the conversation, as admitting it would.
    private func term(of message: IncomingMessage) throws(CloakroomError) -> LegacyHolding {
        let state = try conversation(message.sender.conversation)?.state ?? RetentionState()
        var clock = clock
        let base = clock.base(relayTime: nil, age: Milliseconds(message.stamp.age))
        let record = MessageRecord(
            sequence: 0,
            draft: MessageDraft(
                id: message.id, conversation: message.sender.conversation, author: message.sender.participant,
                stamp: message.stamp.policy, body: message.body, attachments: []),
            base: base, ownPolicy: reader.flatMap { state.registers[$0]?.policy } ?? .noStorage,
            term: .endless)
        let term = term(of: record, in: state, clock)
        guard term.isStored else { return .notStored }
        return clock.trusted.isDue(term.local, base: base) ? .nothingAndOver : .nothing(until: term.local)
    }

    private func isInMemory(_ id: [UInt8]) throws(CloakroomError) -> Bool {
        try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM memory_note WHERE id = ?", [.blob(id)]) { _ in true } ?? false
        }
    }
}
