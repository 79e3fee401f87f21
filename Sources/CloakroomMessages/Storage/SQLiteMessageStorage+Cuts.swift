import CloakroomKit
import CloakroomSQLite
import Foundation

/// Cuts reach messages that are stored: their deadlines fall, and with an earlier one another key seals them.
extension SQLiteMessageStorage {
    /// When a message ends, without what it quotes.
    func term(of record: MessageRecord, in state: RetentionState, _ clock: RetentionClock) -> MessageTerm {
        // Without a reader nothing is known of whose message it is: only its stamp counts.
        guard let reader else { return record.term }
        return state.term(of: record.inputs(clock), reader: reader, limits: limits)
    }

    /// Conversations whose deadlines do not follow their cuts.
    func pendingCuts() throws(CloakroomError) -> [ConversationID] {
        try database.perform { database throws(SQLiteError) in
            try database.rows("SELECT name FROM conversation WHERE cuts_pending = 1") { $0.text(0) }
        }.compactMap { ConversationID(rawValue: $0) }
    }

    /// How far the cuts of a conversation are applied.
    struct CutScan: Sendable {
        fileprivate var cursor: MessageCursor?
        /// What ``SQLiteMessageStorage/cutChanges(of:)`` was at its begin.
        fileprivate let changes: Int
        fileprivate var chains = QuoteChains()
        /// What it was when the chains were begun.
        fileprivate var chainChanges: Int
        /// How often the chains were begun anew.
        fileprivate var resets = 0
        /// Whether changes came meanwhile, so that it begins anew: what is left is hidden, and for the next purge, as a peer
        /// who goes on changing theirs would have it go on for ever.
        let isStale: Bool

        fileprivate init(changes: Int, isStale: Bool) {
            (self.changes, chainChanges, self.isStale) = (changes, changes, isStale)
        }
    }

    /// Changes during one scan after which it is given up.
    private static let mostResets = 16

    /// Grows with each change that reaches back, and with each correction of the time.
    func cutChanges(of conversation: ConversationID) -> Int {
        allCutChanges + cutChanges[conversation, default: 0]
    }

    /// Applies a conversation's cuts to some of its messages.
    ///
    /// - Parameter scan: what the last call returned; `nil` to begin.
    /// - Returns: what the next call needs; `nil` when all are done.
    func applyCuts(
        in name: ConversationID, after scan: CutScan?, limit: Int = 128
    ) throws(CloakroomError) -> CutScan? {
        guard let conversation = try conversation(name), conversation.areCutsPending else { return nil }
        let changes = cutChanges(of: name)
        var scan = scan ?? CutScan(changes: changes, isStale: false)
        // What is deleted is not sealed anew: its key goes.
        var sql = "SELECT \(MessageRow.columns) FROM message WHERE conversation = ? AND seq > ?"
        var values: [SQLiteValue] = [.integer(conversation.id), .integer(conversation.deletedThrough)]
        if let cursor = scan.cursor {
            sql += " AND (base, seq) > (?, ?)"
            values += [.integer(cursor.base), .integer(cursor.sequence)]
        }
        sql += " ORDER BY base, seq LIMIT ?"
        values.append(SQLiteValue(limit))
        let rows = try database.perform { database throws(SQLiteError) in
            try database.rows(sql, values) { row throws(SQLiteError) in try MessageRow(row, conversation: name) }
        }
        // What was found with other cuts, or before the right time was known, is not what holds now.
        if scan.chainChanges != changes {
            (scan.chains, scan.chainChanges) = (QuoteChains(), changes)
            scan.resets += 1
            if scan.resets > Self.mostResets { return CutScan(changes: changes, isStale: true) }
        }
        scan.chains.settledThrough = scan.changes == changes ? scan.cursor : nil
        scan.chains.budget = QuoteChains.linksAtOnce
        var settled: [MessageRow] = []
        var falls: [MessageRow] = []
        for var row in rows {
            guard let term = try settledTerm(of: row.record, in: conversation, &scan.chains) else { break }
            settled.append(row)
            guard term != row.record.term else { continue }
            row.record.term = term
            falls.append(row)
        }
        try write(falls, in: conversation)
        // Their own deadlines say so from now on.
        for row in settled { scan.chains.forget(row.record) }
        guard rows.count == limit || settled.count < rows.count else {
            // Cuts that came meanwhile are for the messages before the cursor, too.
            guard scan.changes == changes else { return CutScan(changes: changes, isStale: true) }
            try database.perform { database throws(SQLiteError) in
                try database.run("UPDATE conversation SET cuts_pending = 0 WHERE id = ?", [.integer(conversation.id)])
            }
            conversations[name]?.areCutsPending = false
            return nil
        }
        // The next call goes on where a very long chain was left.
        if let last = settled.last { scan.cursor = last.record.cursor }
        return scan
    }

    /// Writes deadlines that fall, and seals those messages with the keys of their new slots.
    private func write(_ falls: [MessageRow], in conversation: ConversationRow) throws(CloakroomError) {
        guard !falls.isEmpty else { return }
        var written: [(row: MessageRow, slot: DeadlineSlot, body: [UInt8], fileKeys: [FileKey])] = []
        var left: Set<MessageKeyID> = []
        var moves: [(MessageRow, DeadlineSlot)] = []
        for row in falls {
            // What is to be purged at once is not sealed again, nor what no longer can be.
            let isOver = clock.trusted.isDue(row.record.term.local, base: row.record.base)
            let slot = freeSlot(of: row.record, in: conversation.id)
            if isOver || slot == row.slot || keys.key(row.keyID) == nil {
                written.append((row, row.slot, row.body, []))
            } else {
                moves.append((row, slot))
                left.insert(row.keyID)
            }
        }
        // The slot that one message leaves cannot be where another one goes.
        retiring.formUnion(left)
        for index in moves.indices { moves[index].1 = freeSlot(of: moves[index].0.record, in: conversation.id) }
        do {
            try keys.prepare(moves.map { MessageKeyID(conversation: conversation.id, slot: $0.1) })
            for (row, slot) in moves {
                guard let (body, fileKeys) = try sealedAnew(row, under: slot) else { continue }
                written.append((row, slot, body, fileKeys))
            }
            let all = written
            try database.transaction { database throws(SQLiteError) in
                for (row, slot, body, fileKeys) in all {
                    try database.run(
                        "UPDATE message SET shared = ?, deadline = ?, own_end = ?, slot = ?, body = ? WHERE seq = ?",
                        [
                            SQLiteValue(row.record.term.shared), SQLiteValue(row.record.term.local),
                            SQLiteValue(row.record.term.own), .integer(slot.rawValue), .blob(body),
                            .integer(row.record.sequence),
                        ])
                    for key in fileKeys { try key.write(of: row.record.sequence, in: database) }
                }
                for id in left { try MessageDatabase.retire(id, in: database) }
            }
        } catch {
            retiring = try database.retiringKeys()
            throw error
        }
    }

    /// - Returns: `nil` for one that does not open: its deadline stays, and its key goes with the slot.
    func sealedAnew(
        _ row: MessageRow, under slot: DeadlineSlot
    ) throws(CloakroomError) -> (body: [UInt8], fileKeys: [FileKey])? {
        let id = MessageKeyID(conversation: row.conversation, slot: slot)
        let sequence = row.record.sequence
        guard let body = keys.open(row.body, message: sequence, under: row.keyID), let former = keys.key(row.keyID),
            let key = keys.key(id)
        else { return nil }
        let context = SealingContext(conversation: row.conversation, message: sequence)
        let files = try database.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT position, file, file_key FROM attachment WHERE message = ? AND file IS NOT NULL",
                [.integer(sequence)]
            ) { row in (row.integer(0), AttachmentFile(rawValue: row.text(1)), row.blob(2)) }
        }
        var fileKeys: [FileKey] = []
        for (position, file, sealed) in files {
            guard let file, let fileKey = former.open(sealed, context: context.fileKey(of: file)) else { continue }
            fileKeys.append(FileKey(position: position, sealed: key.seal(fileKey, context: context.fileKey(of: file))))
        }
        return (try keys.seal(body, message: sequence, under: id), fileKeys)
    }
}

/// The key of an attachment's file, as it is stored.
struct FileKey: Sendable {
    var position: Int64
    var sealed: [UInt8]

    func write(of sequence: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run(
            "UPDATE attachment SET file_key = ? WHERE message = ? AND position = ?",
            [.blob(sealed), .integer(sequence), .integer(position)])
    }
}

extension MessageDatabase {
    func retiringKeys() throws(CloakroomError) -> Set<MessageKeyID> {
        Set(
            try perform { database throws(SQLiteError) in
                try database.rows("SELECT conversation, slot FROM retiring_key") { row in
                    MessageKeyID(conversation: row.integer(0), slot: DeadlineSlot(rawValue: row.integer(1)))
                }
            })
    }

    static func retire(_ id: MessageKeyID, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run(
            "INSERT INTO retiring_key (conversation, slot) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [.integer(id.conversation), .integer(id.slot.rawValue)])
    }
}
