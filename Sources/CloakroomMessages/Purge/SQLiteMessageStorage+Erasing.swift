import CloakroomKit
import CloakroomSQLite
import Foundation

extension SQLiteMessageStorage {
    /// Marks all messages of a conversation as deleted: none is returned any more, and the next purge removes them.
    ///
    /// When the disk is full, the keys go all the same.
    func deleteAll(in name: ConversationID) throws(CloakroomError) {
        guard let conversation = try conversation(name) else { return }
        do throws(CloakroomError) {
            try database.perform { database throws(SQLiteError) in
                try database.run(
                    """
                    UPDATE conversation SET deleted_through =
                        ifnull((SELECT seq FROM sqlite_sequence WHERE sqlite_sequence.name = 'message'), 0) WHERE id = ?
                    """, [.integer(conversation.id)])
            }
        } catch {
            keys.drop(keys.table.ids.filter { $0.conversation == conversation.id })
            throw error
        }
        conversations[name] = nil
    }

    /// Erases everything: first the master key, so that nothing can be opened any longer whatever comes next; then the
    /// files, also those that were moved aside.
    func eraseEverything(_ reading: RetentionClock.Reading) async throws {
        try await keys.erase()
        let former = database
        former.database.close()
        conversations = [:]
        retiring = []
        try Self.removeFiles(of: folder)
        try files.removeAll(except: [])
        let (keys, _) = try await MessageKeys.open(in: folder.keys.path, vault: vault)
        self.keys = keys
        hash = try Self.nameHash(keys)
        do throws(SQLiteError) { database = try MessageDatabase(at: folder.database) } catch {
            throw MessageDatabase.failure(error)
        }
        clock.advance(to: reading)
        losses = []
    }

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
