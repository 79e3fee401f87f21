import CloakroomLoop

/// Whether a server is a master: it says so (`ROLE`), and it takes a write.
struct MasterTrial {
    private static let role = RedisCommand(["ROLE"])
    private let request: RedisRequest

    /// - Parameter key: what is written, for a second; `nil` for nothing.
    init(key: String?) {
        // In one round trip: a server between two roles must not pass by one reply before and one after.
        let second = key.map { RedisCommand(["SET", $0, "1", "PX", "1000"]) } ?? RedisCommand(["PING"])
        request = RedisRequest(Self.role, second, mayRepeat: true)
    }

    /// The replicas that a master names (`ROLE`: each with its address, its port and how far it is).
    ///
    /// - Returns: `nil` when it names none, or does not say.
    @LoopActor
    static func replicas(of server: RedisConnection) async -> Set<RedisAddress>? {
        guard case .success(.array(let parts)) = await server.outcome(of: RedisRequest(role, mayRepeat: true)),
            parts.first?.string == "master", parts.count == 3, case .array(let replicas) = parts[2]
        else { return nil }
        return Set(
            replicas.compactMap { replica in
                guard case .array(let words) = replica, words.count == 3, let host = words[0].string,
                    let port = words[1].string
                else { return nil }
                return RedisAddress(host: host, port: port)
            })
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
