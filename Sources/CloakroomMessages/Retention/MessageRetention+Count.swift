import CloakroomKit
import CloakroomSQLite

extension MessageRetention {
    /// How many messages of a conversation are here and not over: what ``deleteAll(in:)`` would remove.
    public func messageCount(in conversation: ConversationID) async throws -> Int {
        let times = try await clock().plausible
        let stored = try await storage.count(of: conversation, hiding: times)
        return stored + (await memory.page(of: conversation, before: nil, limit: .max, hiding: times).count)
    }

    /// What was lost when the storage was opened: tell the user once.
    public func losses() async -> Set<SQLiteMessageStorage.Loss> { await storage.losses }
}

extension SQLiteMessageStorage {
    fileprivate func count(of name: ConversationID, hiding times: ClockTimes) throws(CloakroomError) -> Int {
        guard let conversation = try conversation(name) else { return 0 }
        let count = try database.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT count(*) FROM message WHERE conversation = ? AND seq > ? AND \(Self.isVisible)",
                [.integer(conversation.id), .integer(conversation.deletedThrough)] + times.values
            ) { $0.integer(0) }
        }
        return Int(count ?? 0)
    }
}
