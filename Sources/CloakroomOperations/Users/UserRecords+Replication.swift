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
            "how many of Redis' replicas have it is not known (\(error.label)): the Redis user needs +wait"
        }
    }
}

extension UserRecords {
    /// Waits for a second at most until Redis' replicas have all that was written through this client (`WAIT`).
    ///
    /// - Returns: `nil` where Redis has no replicas, or does not say that it has any.
    package func replication() async -> RecordReplication? {
        guard case .text(let bytes)? = try? await redis.read(RedisCommand(["INFO", "replication"])),
            let replicas = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("connected_slaves"), replicas > 0
        else { return nil }
        do throws(RedisError) {
            let reply = try await redis.send(RedisCommand(["WAIT", String(replicas), "1000"]))
            guard case .integer(let reached) = reply else { return .unknown(.interrupted) }
            return .replicas(reached: reached, of: replicas)
        } catch {
            return .unknown(error)
        }
    }
}
