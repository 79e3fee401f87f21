import CloakroomSQLite
import Foundation

/// A message as the database has it; its body is sealed.
struct MessageRow: Sendable {
    var record: MessageRecord
    /// The row of its conversation.
    var conversation: Int64
    var slot: DeadlineSlot
    var body: [UInt8]

    static let columns = """
        seq, message.name, author, clock, base, wall_lead, stamp, own_policy, shared, deadline, quotes, slot, body,
        conversation, quotes_author, own_end, set_ahead
        """
    static let columnCount: Int32 = 17

    init(_ row: borrowing SQLiteRow, conversation: ConversationID) throws(SQLiteError) {
        guard let id = MessageID(rawValue: row.text(1)), let author = ParticipantID(rawValue: row.text(2)),
            let clock = MessageBase.Clock(rawValue: row.integer(3)), let stamp = row.policy(6),
            let ownPolicy = row.policy(7)
        else { throw .corrupt }
        self.conversation = row.integer(13)
        slot = DeadlineSlot(rawValue: row.integer(11))
        body = row.blob(12)
        record = MessageRecord(
            sequence: row.integer(0),
            draft: MessageDraft(
                id: id, conversation: conversation, author: author, stamp: stamp, body: Data(), attachments: [],
                quotes: Self.quotes(row, in: conversation)),
            base: MessageBase(
                time: row.integer(4), clock: clock, wallLead: row.integer(5), setAhead: row.integer(16)),
            ownPolicy: ownPolicy,
            term: MessageTerm(
                shared: row.integerIfPresent(8), local: row.integerIfPresent(9), own: row.integerIfPresent(15),
                isStored: true))
    }

    private static func quotes(_ row: borrowing SQLiteRow, in conversation: ConversationID) -> MessageReference? {
        guard let id = row.textIfPresent(10).flatMap({ MessageID(rawValue: $0) }),
            let author = row.textIfPresent(14).flatMap({ ParticipantID(rawValue: $0) })
        else { return nil }
        return MessageReference(id, by: author, in: conversation)
    }

    var keyID: MessageKeyID { MessageKeyID(conversation: conversation, slot: slot) }
}

extension MessageReference {
    /// Of three columns: the message's name, its author and its conversation.
    ///
    /// - Returns: `nil` for what is no name.
    init?(_ row: borrowing SQLiteRow, from column: Int32) {
        guard let id = MessageID(rawValue: row.text(column)),
            let author = ParticipantID(rawValue: row.text(column + 1)),
            let conversation = ConversationID(rawValue: row.text(column + 2))
        else { return nil }
        self.init(id, by: author, in: conversation)
    }
}

extension SQLiteRow {
    borrowing func integerIfPresent(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// - Returns: `nil` for what is no policy.
    borrowing func policy(_ column: Int32) -> MessageRetentionPolicy? {
        MessageRetentionPolicy(afterSent: isNull(column) ? nil : .seconds(integer(column)))
    }
}

extension SQLiteValue {
    init(_ policy: MessageRetentionPolicy) { self.init(policy.afterSent.map { $0.components.seconds }) }
}

extension ClockTimes {
    /// What is due, in the table `message`; what is bound comes from ``values``.
    static let condition = """
        (clock < 2 AND deadline <= ? OR clock >= 2 AND (deadline <= ? OR clock <= ?
            AND (deadline + wall_lead <= ? OR deadline + wall_lead - set_ahead <= ?)))
        """

    var values: [SQLiteValue] { [.integer(shared)] + deviceValues }

    /// The same of ``RetentionClock/trusted`` for the rows of one index each.
    static let sharedCondition = "deadline IS NOT NULL AND clock < 2 AND deadline <= ?"
    static let deviceCondition = "deadline IS NOT NULL AND clock >= 2 AND deadline <= ?"
    static let steadyCondition =
        "deadline IS NOT NULL AND clock >= 2 AND clock <= ? AND deadline + wall_lead - set_ahead <= ?"

    var lastClockOnWall: Int64 { MessageBase.Clock.device(run: lastRunOnWall).rawValue }

    private var deviceValues: [SQLiteValue] {
        [.integer(device), .integer(lastClockOnWall), .integer(wall), .integer(steady)]
    }
}
