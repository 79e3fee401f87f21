import CloakroomCrypto
package import Loop
package import Redis

/// What is limited.
package enum LimitName: String, Sendable, CaseIterable {
    case renew
    case vend
    case upload
}

/// Whether one more request may be served, and what the client learns about the next ones.
package struct LimitDecision: Sendable, Equatable {
    package enum Verdict: String, Sendable, CaseIterable {
        case allowed
        case refused
        /// Redis is away, and the route goes on under a limit of this process alone.
        case open
        /// The same, and that limit is used up.
        case openRefused = "open_refused"
        /// Redis is away, and the route does not go on without it.
        case closed
    }

    package let verdict: Verdict
    package let remaining: Int
    /// Until the window ends.
    package let reset: Duration

    package var isAllowed: Bool { verdict == .allowed || verdict == .open }
}

/// Fixed windows from the first request, counted in Redis for all workers and hosts together.
@LoopActor
package final class RateLimiter {
    private let redis: RedisConnection
    private let keyPrefix: String
    private let limits: [LimitName: Settings.Limit]
    private let policies: [LimitName: String]
    private let script = RedisScript(
        source: RateLimiter.source, digest: SHA1.hash(Array(RateLimiter.source.utf8)).hexadecimal)
    private var local = LocalWindows(capacity: 100_000)
    private var calls: [PartyOfLimit: RedisScript.Call] = [:]

    /// Called with why Redis did not answer; the word is for a metric.
    package var onRedisFailure: (@LoopActor (RedisError) -> Void)?

    package init(redis: RedisConnection, keyPrefix: String, limits: Settings.Limits) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        let all = [LimitName.renew: limits.renew, .vend: limits.vend, .upload: limits.upload]
        self.limits = all
        policies = Dictionary(uniqueKeysWithValues: all.map { ($0, $1.policy(named: $0)) })
    }

    /// The value of `RateLimit-Policy`.
    func policy(_ name: LimitName) -> String { policies[name] ?? "" }

    private func limit(_ name: LimitName) -> Settings.Limit {
        guard let limit = limits[name] else { preconditionFailure("every name has a limit") }
        return limit
    }

    /// Counts one request of the subject's device, else of the subject.
    package func take(_ name: LimitName, for subject: Subject) async -> LimitDecision {
        let limit = limit(name)
        let party = subject.party
        do throws(RedisError) {
            return try Self.decision(await redis.run(call(name, party, limit)), limit: limit)
        } catch {
            onRedisFailure?(error)
            guard limit.whenRedisIsAway == .open else {
                return LimitDecision(verdict: .closed, remaining: 0, reset: .seconds(1))
            }
            return local.take("\(name.rawValue):\(party)", limit: limit)
        }
    }

    /// The script for one party. Who asks once mostly asks again, and the call is the same then.
    private func call(_ name: LimitName, _ party: String, _ limit: Settings.Limit) -> RedisScript.Call {
        let id = PartyOfLimit(name: name, party: party)
        if let known = calls[id] { return known }
        let key = "\(keyPrefix)limit:\(name.rawValue):\(party)"
        let call = script.call(keys: [key], arguments: [String(limit.window.milliseconds)])
        if calls.count >= 4096 { calls.removeAll(keepingCapacity: true) }
        calls[id] = call
        return call
    }

    private struct PartyOfLimit: Hashable {
        let name: LimitName
        let party: String
    }

    private static func decision(_ reply: RedisReply, limit: Settings.Limit) throws(RedisError) -> LimitDecision {
        guard case .array(let parts) = reply, parts.count == 2, case .integer(let count) = parts[0],
            case .integer(let milliseconds) = parts[1]
        else { throw .refused(code: "MALFORMED") }
        return LimitDecision(
            verdict: count <= limit.requests ? .allowed : .refused,
            remaining: max(0, limit.requests - count), reset: .milliseconds(max(0, milliseconds)))
    }

    /// One key, so it runs on a cluster too. A key without an end, however it came to be, is given one.
    private static let source = """
        local count = redis.call('INCR', KEYS[1])
        local left = redis.call('PTTL', KEYS[1])
        if left < 0 then
          redis.call('PEXPIRE', KEYS[1], ARGV[1])
          left = tonumber(ARGV[1])
        end
        return {count, left}
        """
}

extension Duration {
    /// Whole milliseconds.
    package var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
