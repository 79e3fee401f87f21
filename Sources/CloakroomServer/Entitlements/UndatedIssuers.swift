package import CloakroomLoop
package import CloakroomRedis

/// Which issuers were seen to give tokens without `iat` and `nbf`, kept in Redis for a month: what `cloakroom user revoke`
/// tells, for no settings file says it.
@LoopActor
package final class UndatedIssuers {
    private let redis: any RedisClient
    private let keyPrefix: String
    private let now: @LoopActor () -> UInt64
    /// By name: when it was last written.
    private var written: [String: UInt64] = [:]

    private static let day: UInt64 = 86_400_000_000_000

    /// - Parameters:
    ///   - keyPrefix: of all our keys.
    ///   - now: in ``Monotonic`` nanoseconds.
    package init(
        redis: any RedisClient, keyPrefix: String, now: @escaping @LoopActor () -> UInt64 = { Monotonic.now }
    ) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        self.now = now
    }

    /// Writes it down once a day.
    ///
    /// - Parameter issuer: one of the settings.
    /// - Returns: whether this process sees it for the first time.
    package func note(_ issuer: String) -> Bool {
        let now = now()
        let last = written[issuer]
        if let last, now &- last < Self.day { return false }
        written[issuer] = now
        redis.send(RedisRequest(RedisCommand(["SET", key(issuer), "1", "EX", "2592000"]))) { [self] answer in
            guard case .reply(let cursor) = answer, cursor.refusal == nil else {
                // Again in a minute.
                written[issuer] = now &- Self.day &+ 60_000_000_000
                return
            }
        }
        return last == nil
    }

    /// - Returns: those of these that were seen, in their order.
    package func seen(among issuers: [String]) async throws(RedisError) -> [String] {
        var seen: [String] = []
        for issuer in issuers where try await redis.send(RedisCommand(["GET", key(issuer)])) != .null {
            seen.append(issuer)
        }
        return seen
    }

    private func key(_ issuer: String) -> String { "\(keyPrefix)undated:\(issuer)" }
}
