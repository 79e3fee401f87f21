import CloakroomKit
import CloakroomSQLite

/// What is known of a message that another one quotes.
enum QuotedMessage: Sendable {
    /// It is here.
    case known(QuotedRecord)
    /// It ended: what quotes it ends, too.
    case over
    /// The user deleted it here, or it was in memory until its conversation closed. Other participants may have it, so what
    /// quotes it ends by its own stamp.
    case deleted
}

/// A message that another one quotes, as far as that depends on it.
struct QuotedRecord: Sendable {
    var stamp: MessageRetentionPolicy
    var term: QuotedTerm

    init(_ record: MessageRecord) { self.init(record, term: record.term) }

    /// - Parameter term: with changes that are not written yet.
    init(_ record: MessageRecord, term: MessageTerm) {
        stamp = record.draft.stamp
        self.term = QuotedTerm(term: term, clock: record.base.clock)
    }
}

/// The end of a message that another one quotes.
struct QuotedTerm: Sendable {
    var term: MessageTerm
    var clock: MessageBase.Clock

    /// Of a message that has ended.
    static let over = QuotedTerm(term: MessageTerm(shared: 0, local: 0, own: nil, isStored: true), clock: .relay)

    /// The same by the clock of the message that quotes it.
    func converted(to clock: MessageBase.Clock, _ now: RetentionClock) -> MessageTerm {
        func converted(_ deadline: Milliseconds?) -> Milliseconds? {
            deadline.map { now.convert($0, from: self.clock, to: clock) }
        }
        return MessageTerm(
            shared: converted(term.shared), local: converted(term.local), own: converted(term.own),
            isStored: term.isStored)
    }
}

extension SQLiteMessageStorage {
    /// - Returns: `nil` for one that was never here.
    func quoted(_ message: MessageReference) throws(CloakroomError) -> QuotedMessage? {
        try conversation(message.conversation).flatMap { conversation throws(CloakroomError) in
            try quoted(rowID(message), in: conversation)
        }
    }

    /// - Parameter id: as ``rowID(_:)`` gives it.
    func quoted(_ id: [UInt8], in conversation: ConversationRow) throws(CloakroomError) -> QuotedMessage? {
        guard let record = try quotedRow(id, in: conversation)?.record else {
            return try departed(id, from: conversation)
        }
        guard conversation.areCutsPending else { return .known(QuotedRecord(record)) }
        var chains = QuoteChains()
        return .known(QuotedRecord(record, term: try settledTerm(of: record, in: conversation, &chains) ?? record.term))
    }

    /// A message that is here, and was not deleted.
    func quotedRow(_ id: [UInt8], in conversation: ConversationRow) throws(CloakroomError) -> MessageRow? {
        guard let (row, _) = try row(id), row.record.sequence > conversation.deletedThrough else { return nil }
        return row
    }

    /// - Returns: `nil` for one that was never here.
    func departed(_ id: [UInt8], from conversation: ConversationRow) throws(CloakroomError) -> QuotedMessage? {
        let sequence = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT seq FROM known WHERE id = ?", [.blob(id)]) { $0.integerIfPresent(0) }
        }
        switch sequence {
        case nil: return nil
        case .some(nil): return .over
        case .some(let sequence?):
            // One that ended before the user deleted others cannot be told from those.
            return sequence <= max(conversation.lastDeleted, conversation.deletedThrough) ? .deleted : .over
        }
    }

    /// Whether a message was here and is not any more.
    ///
    /// - Parameter id: as ``rowID(_:)`` gives it.
    func isGone(_ id: [UInt8]) throws(CloakroomError) -> Bool {
        try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM known WHERE id = ? AND \(Self.isGone)", [.blob(id)]) { _ in true }
                ?? false
        }
    }

    /// Whether an entry of `known` is a tombstone.
    static let isGone = "NOT EXISTS (SELECT 1 FROM message WHERE message.seq = known.seq)"
}
