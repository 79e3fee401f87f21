import CloakroomLoop

/// Whether a server is a master: it says so (`ROLE`), and it takes a write.
struct MasterTrial {
    private let request: RedisRequest

    /// - Parameter key: what is written, for a second.
    init(key: String) {
        // In one round trip: a server between two roles must not pass by one reply before and one after.
        request = RedisRequest(RedisCommand(["ROLE"]), RedisCommand(["SET", key, "1", "PX", "1000"]), mayRepeat: true)
    }

    @LoopActor
    func passes(_ server: RedisConnection) async -> Bool {
        let response = await withCheckedContinuation { continuation in
            server.send(request) { continuation.resume(returning: $0) }
        }
        guard case .reply(var cursor) = response else { return false }
        let isMaster = Self.isMaster(&cursor)
        cursor.goTo(reply: 1)
        return isMaster && Self.takesWrites(cursor)
    }

    private static func isMaster(_ cursor: inout RedisReplyCursor) -> Bool {
        // Without the right to ROLE the write tells a replica as well.
        if let refusal = cursor.refusal { return refusal == .refused(code: "NOPERM") }
        guard case .array(let parts) = RedisReply(&cursor) else { return false }
        return parts.first?.string == "master"
    }

    /// A master that is full, or lacks replicas, is the master all the same: what it says then is told to clients.
    private static func takesWrites(_ cursor: RedisReplyCursor) -> Bool {
        guard let refusal = cursor.refusal else { return true }
        return !refusal.requiresReconnect && refusal != .refused(code: "LOADING")
    }
}
