import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// Steps 7 to 9: what was deleted cannot be opened any more, and is in no log.
extension SQLiteMessageStorage {
    /// Moves some of what retiring keys still seal, and what is not over, to other keys.
    ///
    /// - Parameter ids: some of ``retiring``.
    /// - Returns: whether there may be more.
    func emptyRetiringKeys(_ ids: Set<MessageKeyID>, limit: Int = 128) throws(CloakroomError) -> Bool {
        for id in ids {
            let rows = try rows(under: id, limit: limit)
            guard !rows.isEmpty else { continue }
            let slot = freeSlot(of: rows[0].record, in: id.conversation)
            // Each by its own end: what was re-based is in another slot than its deadline says.
            let slots = rows.map { freeSlot(of: $0.record, in: id.conversation) }
            try keys.prepare(([slot] + slots).map { MessageKeyID(conversation: id.conversation, slot: $0) })
            var moved: [(MessageRow, DeadlineSlot, [UInt8], [FileKey])] = []
            var lost: [Int64] = []
            for (row, slot) in zip(rows, slots) {
                if let (body, fileKeys) = try sealedAnew(row, under: slot) {
                    moved.append((row, slot, body, fileKeys))
                } else {
                    // Its key is gone already: another slot's is no worse.
                    lost.append(row.record.sequence)
                }
            }
            let (written, unreadable) = (moved, lost)
            try database.transaction { database throws(SQLiteError) in
                for (row, slot, body, fileKeys) in written {
                    try database.run(
                        "UPDATE message SET slot = ?, body = ? WHERE seq = ?",
                        [.integer(slot.rawValue), .blob(body), .integer(row.record.sequence)])
                    for key in fileKeys { try key.write(of: row.record.sequence, in: database) }
                }
                for sequence in unreadable {
                    try database.run(
                        "UPDATE message SET slot = ? WHERE seq = ?", [.integer(slot.rawValue), .integer(sequence)])
                }
            }
            return true
        }
        return false
    }

    private func rows(under id: MessageKeyID, limit: Int) throws(CloakroomError) -> [MessageRow] {
        let times = latestClock.trusted
        return try database.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT \(MessageRow.columns), conversation.name FROM message
                JOIN conversation ON conversation.id = message.conversation
                WHERE message.conversation = ? AND slot = ? AND NOT \(Self.isOver) LIMIT ?
                """,
                [.integer(id.conversation), .integer(id.slot.rawValue)] + times.values + [SQLiteValue(limit)]
            ) { row throws(SQLiteError) in
                guard let name = ConversationID(rawValue: row.text(MessageRow.columnCount)) else { throw .corrupt }
                return try MessageRow(row, conversation: name)
            }
        }
    }

    /// Drops the keys that seal nothing any more, in this process: ``rotateKeys(now:)`` puts them out of reach.
    func dropKeys() throws(CloakroomError) { keys.drop(try endedKeys()) }

    /// Keys of slots that have ended, and those that retire, when they hold only what is over: whether its rows could be
    /// deleted or not.
    private func endedKeys() throws(CloakroomError) -> [MessageKeyID] {
        let times = latestClock.trusted
        var ended: [MessageKeyID] = []
        for id in keys.table.ids where id != Self.hashKeyID {
            if id.conversation < 0 {
                let isNeeded = try database.perform { database throws(SQLiteError) in
                    try database.first(
                        "SELECT 1 FROM memory_note WHERE conversation = ?", [.integer(-id.conversation)]
                    ) { _ in true } ?? false
                }
                if !isNeeded { ended.append(id) }
                continue
            }
            let hasEnded = !id.slot.isEndless && id.slot.rawValue <= max(times.shared, times.device) / 1000
            guard hasEnded || retiring.contains(id) else { continue }
            let isNeeded = try database.perform { database throws(SQLiteError) in
                try database.first(
                    "SELECT 1 FROM message WHERE conversation = ? AND slot = ? AND NOT \(Self.isOver)",
                    [.integer(id.conversation), .integer(id.slot.rawValue)] + times.values
                ) { _ in true } ?? false
            }
            if !isNeeded { ended.append(id) }
        }
        return ended
    }

    private static let isOver = """
        (ifnull(\(ClockTimes.condition), 0) OR EXISTS (SELECT 1 FROM conversation
            WHERE conversation.id = message.conversation AND seq <= deleted_through))
        """

    /// - Returns: whether it has to be repeated, as rotations are a minute apart.
    func rotateKeys(now: ContinuousClock.Instant) async throws -> Bool {
        if let delay = keys.rotationDelay(at: now) {
            guard delay == .zero, !keys.isRotating else { return true }
            try step(.keysRotated(.before))
            try await keys.rotate(now: now)
            try step(.keysRotated(.after))
        }
        // Their keys are out of reach now, and new ones may have their names.
        let gone = retiring.filter { keys.key($0) == nil }
        guard !gone.isEmpty else { return false }
        try database.transaction { database throws(SQLiteError) in
            for id in gone {
                try database.run(
                    "DELETE FROM retiring_key WHERE conversation = ? AND slot = ?",
                    [.integer(id.conversation), .integer(id.slot.rawValue)])
            }
        }
        retiring.subtract(gone)
        return false
    }

    /// Empties the log of the database.
    ///
    /// - Returns: `false` when another connection keeps it.
    func emptyLog() throws -> Bool {
        try step(.checkpointed(.before))
        let isBusy = try database.perform { database throws(SQLiteError) in
            // Most of it without keeping writers waiting, and then without waiting for readers.
            _ = try database.checkpoint(.passive)
            try database.run("PRAGMA busy_timeout = 0")
            defer { _ = try? database.run("PRAGMA busy_timeout = 2000") }
            do throws(SQLiteError) { return try database.checkpoint(.truncate).isBusy } catch .busy { return true }
        }
        if !isBusy { try step(.checkpointed(.after)) }
        return !isBusy
    }

    /// Whether a purge has begun and not been closed.
    func isPurgeOpen() throws(CloakroomError) -> Bool {
        try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM purge") { _ in true } ?? false
        }
    }

    func closePurge() throws {
        try step(.closed(.before))
        let state = clock
        try database.transaction { database throws(SQLiteError) in
            try database.run("DELETE FROM purge")
            try MessageDatabase.store(state, in: database)
        }
        try step(.closed(.after))
    }

    /// How long until a purge that was not closed is to be continued; `nil` when there is none.
    func openPurgeRemaining(now: ContinuousClock.Instant) throws(CloakroomError) -> Milliseconds? {
        guard try isPurgeOpen() else { return nil }
        return keys.rotationDelay(at: now).map { Milliseconds($0) } ?? 0
    }

    /// Whether messages are hidden that are purged when the clocks have agreed for a day.
    func awaitsAgreement(_ clock: RetentionClock) throws(CloakroomError) -> Bool {
        let (plausible, trusted) = (clock.plausible, clock.trusted)
        return try database.perform { database throws(SQLiteError) in
            let former = try database.first(
                "SELECT 1 FROM message WHERE clock >= 2 AND clock < ?",
                [.integer(MessageBase.Clock.device(run: clock.run).rawValue)]
            ) { _ in true }
            if former != nil { return true }
            guard plausible.shared > trusted.shared else { return false }
            let hidden = try database.first(
                "SELECT 1 FROM message WHERE \(ClockTimes.sharedCondition)", [.integer(plausible.shared)]
            ) { _ in true }
            return hidden != nil
        }
    }

    /// How long until a key's slot ends, or a rotation that waits is due; `nil` when there is none.
    func keysRemaining(now: ContinuousClock.Instant) throws(CloakroomError) -> Milliseconds? {
        guard try endedKeys().isEmpty else { return 0 }
        let shared = latestClock.trusted.shared
        let ends = keys.table.ids.lazy.filter { $0 != Self.hashKeyID && !$0.slot.isEndless }
            .map { ($0.slot.rawValue * 1000).minus(shared) }
        let next = [ends.filter { $0 > 0 }.min(), keys.rotationDelay(at: now).map { Milliseconds($0) }]
        return next.compactMap { $0 }.min()
    }
}
