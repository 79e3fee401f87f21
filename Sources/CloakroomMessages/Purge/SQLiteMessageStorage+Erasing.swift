import CloakroomKit
import CloakroomSQLite
import Foundation

extension SQLiteMessageStorage {
    /// Marks all messages of a conversation as deleted: none is returned any more, and the next purge removes them.
    ///
    /// What seals them retires at once. When that cannot be written, as on a full disk, the keys go all the same, it is
    /// noted with those that are left, and written by the next purge, after a kill too.
    func deleteAll(in name: ConversationID, now: ContinuousClock.Instant) async throws(CloakroomError) {
        guard let conversation = try conversation(name) else { return }
        let through = try lastSequence()
        unwrittenDeletions[name] = through
        conversations[name] = nil
        do throws(CloakroomError) { try writeDeletions() } catch {
            keys.delete(conversation.id, through: through)
            await keys.writeDeletions(now: now)
        }
    }

    /// Ends one message here: it is returned no more, and the next purge removes it. What seals it retires at once.
    func delete(_ message: MessageReference) throws(CloakroomError) {
        let id = rowID(message)
        guard let row = try row(id)?.0 else { return }
        let (sequence, key) = (row.record.sequence, row.keyID)
        try database.transaction { database throws(SQLiteError) in
            // Over by each clock. When it ends for others is as it was.
            try database.run(
                "UPDATE message SET deadline = min(ifnull(deadline, 0), 0) WHERE seq = ?", [.integer(sequence)])
            // As one that was deleted: replies to it do not end with it.
            try database.run(
                "UPDATE known SET seq = ? WHERE id = ?", [.integer(AdmissionPlan.sequenceInMemory), .blob(id)])
            try MessageDatabase.retire(key, in: database)
        }
        retiring.insert(key)
    }

    /// What former processes could not write.
    func readDeletions() throws(CloakroomError) {
        for (row, through) in keys.table.deletions {
            let name = try database.perform { database throws(SQLiteError) in
                try database.first("SELECT name FROM conversation WHERE id = ?", [.integer(row)]) { $0.text(0) }
            }
            // One of a database that was moved aside is not here.
            if let name = name.flatMap({ ConversationID(rawValue: $0) }) {
                unwrittenDeletions[name] = through
            } else {
                keys.forgetDeletion(row)
            }
        }
    }

    /// Writes down which messages are deleted, where that has failed before.
    func writeDeletions() throws(CloakroomError) {
        for (name, through) in unwrittenDeletions {
            let row = try conversation(name)?.id
            let sealing = keys.table.ids.filter { $0.conversation == row }
            try database.transaction { database throws(SQLiteError) in
                try database.run(
                    """
                    UPDATE conversation SET deleted_through = max(deleted_through, ?1),
                        last_deleted = max(last_deleted, ?1) WHERE name = ?2
                    """, [.integer(through), .text(name.rawValue)])
                // Whether a handler lets the rows go or not. What came later is sealed anew.
                for key in sealing { try MessageDatabase.retire(key, in: database) }
            }
            unwrittenDeletions[name] = nil
            if let row { keys.forgetDeletion(row) }
            retiring = try database.retiringKeys()
        }
    }

    /// Erasing begins: nothing can be opened any longer, whatever comes next. When the process ends before
    /// ``finishErasing(_:)``, the next one continues.
    ///
    /// - Returns: the messages that were in memory, for handlers: their names can no longer be read.
    @discardableResult
    func beginErasing() async throws(CloakroomError) -> [MessageReference] {
        try folder.markErasing()
        isErasing = true
        // Nothing is admitted any more, and the keys are there yet.
        let inMemory = (try? noteReferences()) ?? []
        try await keys.erase()
        return inMemory
    }

    /// The messages that are being erased, for handlers, some at a time.
    ///
    /// - Parameter sequence: of the last one before; 0 to begin.
    /// - Returns: `nil` after the last.
    func erasedReferences(
        after sequence: Int64, limit: Int = 1000
    ) throws(CloakroomError) -> (messages: [MessageReference], last: Int64)? {
        let rows = try database.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT message.name, author, conversation.name, seq FROM message
                JOIN conversation ON conversation.id = message.conversation WHERE seq > ? ORDER BY seq LIMIT ?
                """, [.integer(sequence), SQLiteValue(limit)]
            ) { (MessageReference($0, from: 0), $0.integer(3)) }
        }
        return rows.last.map { (rows.compactMap(\.0), $0.1) }
    }

    /// Removes the files, also those that were moved aside, and begins anew.
    func finishErasing(_ reading: RetentionClock.Reading) async throws {
        try await keys.erase()
        guard isOpen else { throw Self.closed }
        let former = database
        former.database.close()
        conversations = [:]
        retiring = []
        unwrittenDeletions = [:]
        endedNotes = []
        try Self.removeFiles(of: folder)
        try files.removeAll(except: [])
        let (keys, _) = try await MessageKeys.open(in: folder.keys.path, vault: vault, beginsAnew: true)
        guard isOpen else { throw Self.closed }
        self.keys = keys
        hash = try Self.nameHash(keys)
        do throws(SQLiteError) { database = try MessageDatabase(at: folder.database) } catch {
            throw MessageDatabase.failure(error)
        }
        pruning = try database.pruning()
        clock.advance(to: reading)
        (heardClock, clockFailure, areFormerImagesHeld) = (nil, nil, false)
        losses = []
        try folder.unmarkErasing()
        isErasing = false
    }

    private static let closed = CloakroomError(
        .storeFailed, "the messages were closed while they were erased: repeat it")

    /// The database, what was moved aside, and their logs.
    private static func removeFiles(of folder: MessageFolder) throws(CloakroomError) {
        do {
            let name = folder.database.lastPathComponent
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            where file == name || file.hasPrefix(name + "-") || file.hasPrefix(name + ".") {
                try FileManager.default.removeItem(at: folder.url.appendingPathComponent(file, isDirectory: false))
            }
        } catch {
            throw CloakroomError(of: error, otherwise: .unwritableFile, "the messages cannot be removed")
        }
    }

    /// Removes databases that were moved aside, when the last of their messages would have ended.
    func removeMovedAside() throws(CloakroomError) {
        let now = clock.trusted.shared
        let paths = try database.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT path FROM moved_aside WHERE until IS NOT NULL AND until <= ?", [.integer(now)]
            ) { $0.text(0) }
        }
        for path in paths {
            for suffix in ["", "-wal", "-shm"] {
                let file = folder.url.appendingPathComponent(path + suffix, isDirectory: false)
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                do { try FileManager.default.removeItem(at: file) } catch {
                    throw CloakroomError(of: error, otherwise: .unwritableFile, path)
                }
            }
            try database.perform { database throws(SQLiteError) in
                try database.run("DELETE FROM moved_aside WHERE path = ?", [.text(path)])
            }
        }
    }
}
