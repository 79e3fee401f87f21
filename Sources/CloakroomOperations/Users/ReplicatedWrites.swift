import CloakroomLoop
import CloakroomRedis
import CloakroomServer

/// Sends calls that change records, each with a `WAIT` for a second at most behind it.
///
/// Both are one request on one connection, so that the replicas are those of the server that took the call.
@LoopActor
final class ReplicatedWrites {
    private let redis: any RedisClient
    private let hasFailover: Bool
    /// Of the call that is on the fewest replicas; `nil` for a single server without any, and before the first call.
    private(set) var replication: RecordReplication?

    /// - Parameter hasFailover: whether a replica may take the master's place: Sentinel or a cluster.
    init(_ redis: any RedisClient, hasFailover: Bool) {
        self.redis = redis
        self.hasFailover = hasFailover
    }

    /// - Throws: when the call was not run, or that is not known.
    func send(_ call: RedisScript.Call, _ key: String) async throws(RedisError) -> RedisReply {
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
        let wait = RedisCommand(["WAIT", String(count), "1000"], near: key)
        let response = await withCheckedContinuation { continuation in
            redis.send(RedisRequest(call, followedBy: wait)) { continuation.resume(returning: $0) }
        }
        switch response {
        case .failure(let error): throw error
        case .reply(var cursor):
            if let refusal = cursor.refusal { throw refusal }
            let reply = RedisReply(&cursor)
            cursor.goTo(reply: 1)
            note(Self.replication(&cursor, of: count))
            return reply
        }
    }

    private static func replication(_ cursor: inout RedisReplyCursor, of count: Int) -> RecordReplication {
        if let refusal = cursor.refusal { return .unknown(refusal) }
        guard case .integer(let reached) = RedisReply(&cursor) else { return .unknown(.interrupted) }
        return .replicas(reached: reached, of: count)
    }

    private func note(_ new: RecordReplication) {
        if let replication, replication.lacking >= new.lacking { return }
        replication = new
    }

    /// Of the server that has the key.
    private func replicaCount(_ key: String) async throws(RedisError) -> Int {
        guard case .text(let bytes) = try await redis.read(RedisCommand(["INFO", "replication"], near: key)),
            let count = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("connected_slaves")
        else { throw .refused(code: "MALFORMED") }
        return count
    }
}

extension RecordReplication {
    /// Of several calls the operator is told of the one that lacks most.
    fileprivate var lacking: Int {
        switch self {
        case .replicas(let reached, let count): count - reached
        case .noReplicas: .max - 1
        case .unknown: .max
        }
    }
}
