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
        (try? await server.outcome(of: RedisRequest(role, mayRepeat: true)).get()).flatMap { replicas(in: $0) }
    }

    /// - Parameter reply: to `ROLE`.
    static func replicas(in reply: RedisReply) -> Set<RedisAddress>? {
        guard case .array(let parts) = reply, parts.first?.string == "master", parts.count == 3,
            case .array(let replicas) = parts[2]
        else { return nil }
        return Set(
            replicas.compactMap { replica in
                guard case .array(let words) = replica, words.count == 3, let host = words[0].string,
                    let port = words[1].string
                else { return nil }
                return RedisAddress(host: host, port: port)
            })
    }

    /// A master that is full, or lacks replicas, is the master all the same: what it says then is told to clients.
    @LoopActor
    func passes(_ server: RedisConnection) async -> Bool {
        guard let refusal = await outcome(on: server) else { return false }
        return refusal.map { !$0.requiresReconnect && $0 != .refused(code: "LOADING") } ?? true
    }

    /// Whether it is a master that refuses writes for want of replicas, as one does that they have left for another.
    @LoopActor
    func lacksReplicas(_ server: RedisConnection) async -> Bool {
        await outcome(on: server) == .some(.refused(code: "NOREPLICAS"))
    }

    /// - Returns: how it refuses the write, if it does; `nil` for a server that is no master, or does not respond.
    @LoopActor
    private func outcome(on server: RedisConnection) async -> RedisError?? {
        let response = await withCheckedContinuation { continuation in
            server.send(request) { continuation.resume(returning: $0) }
        }
        guard case .reply(var cursor) = response, Self.isMaster(&cursor) else { return nil }
        cursor.goTo(reply: 1)
        return .some(cursor.refusal)
    }

    private static func isMaster(_ cursor: inout RedisReplyCursor) -> Bool {
        // Without the right to ROLE the write tells a replica as well.
        if let refusal = cursor.refusal { return refusal == .refused(code: "NOPERM") }
        guard case .array(let parts) = RedisReply(&cursor) else { return false }
        return parts.first?.string == "master"
    }
}
