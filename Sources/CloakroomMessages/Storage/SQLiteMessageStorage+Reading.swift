package import CloakroomKit
import CloakroomSQLite
import Foundation

extension SQLiteMessageStorage: MessageStorage {
    package func page(
        of name: ConversationID, before: MessageCursor?, limit: Int, hiding times: ClockTimes
    ) throws(CloakroomError) -> [StoredMessage] {
        guard limit > 0, let conversation = try conversation(name) else { return [] }
        var messages: [StoredMessage] = []
        var cursor = before
        // Each may quote one more.
        var chains = QuoteChains(budget: QuoteChains.linksAtOnce + min(limit, 1 << 20))
        while messages.count < limit {
            let rows = try rows(of: conversation, before: cursor, limit: limit - messages.count, hiding: times)
            for row in rows {
                if let message = try opened(row, in: conversation, hiding: times, &chains) { messages.append(message) }
            }
            guard rows.count > 0, let last = rows.last else { break }
            cursor = last.record.cursor
        }
        return messages
    }

    package func message(
        _ message: MessageReference, hiding times: ClockTimes
    ) throws(CloakroomError) -> StoredMessage? {
        var chains = QuoteChains(budget: QuoteChains.linksAtOnce)
        guard let (row, conversation) = try visibleRow(rowID(message), hiding: times, &chains) else { return nil }
        return try opened(row, in: conversation, hiding: times, &chains)
    }

    /// A message that is here, and not over.
    func record(_ message: MessageReference, hiding times: ClockTimes) throws(CloakroomError) -> MessageRecord? {
        var chains = QuoteChains()
        return try visibleRow(rowID(message), hiding: times, &chains)?.0.record
    }

    /// - Parameter id: as ``rowID(_:)`` gives it.
    func visibleRow(
        _ id: [UInt8], hiding times: ClockTimes, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> (MessageRow, ConversationRow)? {
        guard let found = try row(id), try isVisible(found.0.record, in: found.1, hiding: times, &chains) else {
            return nil
        }
        return found
    }

    /// The same of its number.
    func visibleRow(
        sequence: Int64, hiding times: ClockTimes, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> (MessageRow, ConversationRow)? {
        guard let found = try row(sequence: sequence),
            try isVisible(found.0.record, in: found.1, hiding: times, &chains)
        else { return nil }
        return found
    }

    private func isVisible(
        _ record: MessageRecord, in conversation: ConversationRow, hiding times: ClockTimes, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> Bool {
        guard record.sequence > conversation.deletedThrough, !times.isDue(record.term.local, base: record.base) else {
            return false
        }
        return try !isEnded(record, by: conversation, hiding: times, &chains)
    }

    package func impact(
        of policy: MessageRetentionPolicy, in name: ConversationID, hiding times: ClockTimes
    ) throws(CloakroomError) -> Int {
        guard let limit = RetentionCuts.duration(of: policy), let conversation = try conversation(name) else {
            return 0
        }
        let count = try database.perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT count(*) FROM message WHERE conversation = ? AND seq > ? AND \(Self.isVisible)
                AND (clock < 2 AND base + ? <= ? OR clock >= 2 AND (base + ? <= ? OR clock <= ?
                    AND (base + ? + wall_lead <= ? OR base + ? + wall_lead - set_ahead <= ?)))
                """,
                [.integer(conversation.id), .integer(conversation.deletedThrough)] + times.values
                    + [
                        .integer(limit), .integer(times.shared), .integer(limit), .integer(times.device),
                        .integer(times.lastClockOnWall), .integer(limit), .integer(times.wall), .integer(limit),
                        .integer(times.steady),
                    ]
            ) { $0.integer(0) }
        }
        return Int(count ?? 0)
    }

    package func newestBase(
        in name: ConversationID, _ clock: RetentionClock
    ) throws(CloakroomError) -> NewestBase? {
        guard let conversation = try conversation(name) else { return nil }
        return try database.perform { database throws(SQLiteError) in
            var newest: NewestBase?
            for condition in ["clock < 2", "clock >= 2"] {
                let base = try database.first(
                    """
                    SELECT base, clock FROM message WHERE conversation = ? AND \(condition) ORDER BY base DESC LIMIT 1
                    """, [.integer(conversation.id)]
                ) { row in
                    MessageBase.Clock(rawValue: row.integer(1)).map {
                        NewestBase(MessageBase(time: row.integer(0), clock: $0), clock)
                    }
                }
                newest = NewestBase.later(newest, base ?? nil)
            }
            return newest
        }
    }

    package func remaining(_ times: ClockTimes) throws(CloakroomError) -> Milliseconds? {
        try database.perform { database throws(SQLiteError) in
            var remaining: [Milliseconds] = []
            let shared =
                try database.first(
                    "SELECT min(deadline) FROM message WHERE deadline IS NOT NULL AND clock < 2"
                ) { $0.integerIfPresent(0) } ?? nil
            if let shared { remaining.append(shared.minus(times.shared)) }
            let device =
                try database.first(
                    "SELECT min(deadline) FROM message WHERE deadline IS NOT NULL AND clock >= 2"
                ) { $0.integerIfPresent(0) } ?? nil
            if let device { remaining.append(device.minus(times.device)) }
            // Those of the present run are over by the device's time first, unless that stands still.
            let steady = try database.first(
                """
                SELECT deadline + wall_lead - set_ahead FROM message INDEXED BY message_due_steady
                WHERE deadline IS NOT NULL AND clock >= 2 AND clock <= ?
                ORDER BY deadline + wall_lead - set_ahead LIMIT 1
                """, [.integer(times.lastClockOnWall)]
            ) { $0.integer(0) }
            if let steady { remaining.append(steady.minus(times.steady)) }
            let isDeleting = try database.first(
                "SELECT 1 FROM conversation WHERE deleted_through > 0 OR cuts_pending = 1"
            ) {
                _ in true
            }
            if isDeleting != nil { remaining.append(0) }
            return remaining.min().map { max(0, $0) }
        }
    }

    // MARK: Rows

    static let isVisible = "(deadline IS NULL OR NOT \(ClockTimes.condition))"

    private func rows(
        of conversation: ConversationRow, before cursor: MessageCursor?, limit: Int, hiding times: ClockTimes
    ) throws(CloakroomError) -> [MessageRow] {
        let place = cursor == nil ? "" : "AND (base, seq) < (?, ?)"
        let sql = """
            SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq > ? AND \(Self.isVisible) \(place)
            ORDER BY base DESC, seq DESC LIMIT ?
            """
        var values: [SQLiteValue] = [.integer(conversation.id), .integer(conversation.deletedThrough)]
        values += times.values
        if let cursor { values += [.integer(cursor.base), .integer(cursor.sequence)] }
        values.append(SQLiteValue(limit))
        return try database.perform { database throws(SQLiteError) in
            try database.rows(sql, values) { row throws(SQLiteError) in
                try MessageRow(row, conversation: conversation.name)
            }
        }
    }

    /// A message of any state.
    ///
    /// - Parameter id: as ``rowID(_:)`` gives it.
    func row(_ id: [UInt8]) throws(CloakroomError) -> (MessageRow, ConversationRow)? {
        let sequence = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT seq FROM known WHERE id = ?", [.blob(id)]) { $0.integerIfPresent(0) } ?? nil
        }
        return try sequence.flatMap { sequence throws(CloakroomError) in try row(sequence: sequence) }
    }

    /// - Returns: `nil` when it is gone.
    private func row(sequence: Int64) throws(CloakroomError) -> (MessageRow, ConversationRow)? {
        let name = try database.perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT conversation.name FROM message JOIN conversation ON conversation.id = message.conversation
                WHERE seq = ?
                """, [.integer(sequence)]
            ) { $0.text(0) }
        }
        guard let name = name.flatMap({ ConversationID(rawValue: $0) }), let conversation = try conversation(name)
        else {
            return nil
        }
        let row = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT \(MessageRow.columns) FROM message WHERE seq = ?", [.integer(sequence)]) {
                row throws(SQLiteError) in try MessageRow(row, conversation: name)
            }
        }
        return row.map { ($0, conversation) }
    }

    /// - Returns: `nil` for a message that a cut has ended which its deadline does not follow yet, and for one whose key is
    ///   gone.
    private func opened(
        _ row: MessageRow, in conversation: ConversationRow, hiding times: ClockTimes, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> StoredMessage? {
        guard try !isEnded(row.record, by: conversation, hiding: times, &chains) else { return nil }
        guard let body = keys.open(row.body, message: row.record.sequence, under: row.keyID) else { return nil }
        var record = row.record
        record.draft.body = Data(body)
        record.draft.attachments = try attachments(of: record.sequence)
        return record.stored
    }

    /// Whether a cut has ended a message whose deadline does not follow it yet.
    private func isEnded(
        _ record: MessageRecord, by conversation: ConversationRow, hiding times: ClockTimes, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> Bool {
        guard conversation.areCutsPending else { return false }
        // At the end of a very long chain it is hidden until the change is written.
        guard let term = try settledTerm(of: record, in: conversation, &chains) else { return true }
        return times.isDue(term.local, base: record.base)
    }

    private func attachments(of sequence: Int64) throws(CloakroomError) -> [MessageAttachment] {
        try database.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT asset_key, release_token, file FROM attachment WHERE message = ? ORDER BY position",
                [.integer(sequence)]
            ) { row in
                MessageAttachment(
                    assetKey: row.textIfPresent(0), releaseToken: row.textIfPresent(1),
                    file: row.textIfPresent(2).flatMap { AttachmentFile(rawValue: $0) })
            }
        }
    }
}
