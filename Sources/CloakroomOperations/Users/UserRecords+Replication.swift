package import CloakroomRedis
package import CloakroomServer

/// On how many of Redis' replicas a change of a record is.
package enum RecordReplication: Sendable, Equatable {
    case replicas(reached: Int, of: Int)
    /// Redis has replicas, but does not tell how far they are.
    case unknown(RedisError)

    /// For the operator.
    package var sentence: String {
        switch self {
        case .replicas(0, let count):
            "none of Redis' \(count) replicas has it after a second: if the master fails now, it is lost; run this again"
        case .replicas(let reached, let count): "\(reached) of Redis' \(count) replicas have it"
        case .unknown(let error):
            "how many of Redis' replicas have it is not known (\(error.label))"
                + (error == .refused(code: "NOPERM") ? ": the Redis user needs +wait" : "; run this again")
        }
    }
}

extension UserRecords {
    /// Waits for a second at most until Redis' replicas have what was written of a user through this client (`WAIT`).
    ///
    /// - Returns: `nil` where Redis has no replicas, or does not say that it has any.
    package func replication(of user: UserID) async -> RecordReplication? {
        let key = Self.key(of: user, prefix: keyPrefix)
        guard case .text(let bytes)? = try? await redis.read(RedisCommand(["INFO", "replication"], near: key)),
            let replicas = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("connected_slaves"), replicas > 0
        else { return nil }
        do throws(RedisError) {
            return .replicas(reached: try await reached(replicas, key), of: replicas)
        } catch {
            return .unknown(error)
        }
    }
    /// Waits behind a write of the same connection: to a connection without one `WAIT` says that all replicas have it.
    private func reached(_ replicas: Int, _ key: String) async throws(RedisError) -> Int {
        let mark = RedisCommand(
            ["SET", "\(keyPrefix)trial:{wait}:\(UInt64.random(in: 0 ... .max))", "1", "PX", "1000"], near: key)
        let request = RedisRequest(mark, RedisCommand(["WAIT", String(replicas), "1000"], near: key), mayRepeat: false)
        let response = await withCheckedContinuation { continuation in
            redis.send(request) { continuation.resume(returning: $0) }
        }
        switch response {
        case .failure(let error): throw error
        case .reply(var cursor):
            if let refusal = cursor.refusal { throw refusal }
            cursor.goTo(reply: 1)
            if let refusal = cursor.refusal { throw refusal }
            guard case .integer(let reached) = RedisReply(&cursor) else { throw .interrupted }
            return reached
        }
    }
}
