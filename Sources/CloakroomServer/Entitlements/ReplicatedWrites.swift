package import CloakroomLoop
package import CloakroomRedis

/// Sends calls that change records, with a `WAIT` for a second at most behind each, or behind all.
///
/// A call and its `WAIT` are one request on one connection, so that the replicas are those of the server that took the call.
@LoopActor
package final class ReplicatedWrites {
    private let redis: any RedisClient
    private let hasFailover: Bool
    /// Of the call that is on the fewest replicas; `nil` for a single server without any, and before the first call.
    package private(set) var replication: RecordReplication?
    /// Of calls that were sent without a `WAIT`.
    private var keys: Set<String> = []
    /// Whether a server has had replicas that were late.
    private var isLate = false

    /// - Parameter hasFailover: whether a replica may take the master's place: Sentinel or a cluster.
    package init(_ redis: any RedisClient, hasFailover: Bool) {
        self.redis = redis
        self.hasFailover = hasFailover
    }

    /// - Throws: when the call was not run, or that is not known.
    package func send(_ call: RedisScript.Call, _ key: String) async throws(RedisError) -> RedisReply {
        let count: Int
        do throws(RedisError) { count = try await replicaCount(key) } catch {
            let reply = try await redis.run(call)
            note(.unknown(error))
            return reply
        }
        guard count > 0 else {
            let reply = try await redis.run(call)
            if hasFailover { note(.noReplicas) }
            return reply
        }
        // Late ones take a second, once: of all others one replica is enough, by which a failover does not lose the change.
        let wait = RedisCommand(["WAIT", String(isLate ? 1 : count), "1000"], near: key)
        let response = await withCheckedContinuation { continuation in
            redis.send(RedisRequest(call, followedBy: wait)) { continuation.resume(returning: $0) }
        }
        switch response {
        case .failure(let error): throw error
        case .reply(var cursor):
            if let refusal = cursor.refusal { throw refusal }
            let reply = RedisReply(&cursor)
            cursor.goTo(reply: 1)
            let replication = Self.replication(&cursor, of: count)
            if case .replicas(let reached, _) = replication, reached < count { isLate = true }
            note(replication)
            return reply
        }
    }

    /// Sends a call whose replicas ``waitForReplicas()`` waits for.
    func sendAhead(_ call: RedisScript.Call, _ key: String) async throws(RedisError) -> RedisReply {
        keys.insert(key)
        return try await redis.run(call)
    }

    /// Waits for what was sent ahead, key by key, until one of them is on no replica: the others would take a second each.
    func waitForReplicas() async {
        for key in keys.sorted() {
            do throws(RedisError) { _ = try await send(Self.touchScript.call(keys: [key], arguments: []), key) } catch {
                note(.unknown(error))
            }
            if replication?.mayBeUndone == true { break }
        }
        keys = []
    }

    /// Writes what is there. `WAIT` looks at what its own connection has written last, and a server's replicas have all that
    /// was written before (redis.io, WAIT).
    private static let touchScript = RedisScript(
        text: """
            local values = redis.call('HMGET', KEYS[1], 'sharesRevision', 'updated')
            if values[1] then redis.call('HSET', KEYS[1], 'sharesRevision', values[1])
            elseif values[2] then redis.call('HSET', KEYS[1], 'updated', values[2]) end
            return 1
            """)

    private static func replication(_ cursor: inout RedisReplyCursor, of count: Int) -> RecordReplication {
        if let refusal = cursor.refusal { return .unknown(refusal) }
        guard case .integer(let reached) = RedisReply(&cursor) else { return .unknown(.interrupted) }
        return .replicas(reached: reached, of: count)
    }

    private func note(_ new: RecordReplication) { replication = .leastReplicated(replication, new) }

    /// Of the server that has the key.
    private func replicaCount(_ key: String) async throws(RedisError) -> Int {
        guard case .text(let bytes) = try await redis.read(RedisCommand(["INFO", "replication"], near: key)),
            let count = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("connected_slaves")
        else { throw .refused(code: "MALFORMED") }
        return count
    }
}

extension RecordReplication {
    /// Of several calls the operator is told of one that has to be made again, and of the one that lacks most.
    package static func leastReplicated(_ first: Self?, _ second: Self?) -> Self? {
        guard let first, let second else { return first ?? second }
        return first.rank.lexicographicallyPrecedes(second.rank) ? second : first
    }

    private var rank: [Int] { [mayBeUndone ? 1 : 0, needsRepetition ? 1 : 0, lacking] }

    private var lacking: Int {
        switch self {
        case .replicas(let reached, let count): count - reached
        case .noReplicas: .max - 1
        case .unknown: .max
        }
    }
}
