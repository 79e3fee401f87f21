import CloakroomCrypto
package import Loop
package import Redis

/// What is limited.
package enum LimitName: String, Sendable, CaseIterable {
    case renew
    case vend
    case upload
    case session
    case notification
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
    private let limits: Settings.Limits
    private let script = RedisScript(
        source: RateLimiter.source, digest: SHA1.hash(Array(RateLimiter.source.utf8)).hexadecimal)
    private var local = LocalWindows(capacity: 100_000)
    private var questions: [Asker: Question] = [:]

    /// Called with why Redis did not answer; the word is for a metric.
    package var onRedisFailure: (@LoopActor (RedisError) -> Void)?

    package init(redis: RedisConnection, keyPrefix: String, limits: Settings.Limits) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        self.limits = limits
    }

    private func limit(_ name: LimitName) -> Settings.Limit {
        switch name {
        case .renew: limits.renew
        case .vend: limits.vend
        case .upload: limits.upload
        case .session: limits.session
        case .notification: limits.notification
        }
    }

    /// Counts one request of the subject's device, else of the subject, by the limit of everybody.
    package func take(_ name: LimitName, for subject: Subject) async -> LimitDecision {
        let limit = limit(name)
        let (count, _) = await count(name, for: subject, readsRecord: false)
        do throws(RedisError) { return try count.get().decision(by: limit) } catch {
            return decideWithoutRedis(name, subject, limit, error)
        }
    }

    /// Counts one request, and asks for the user's record in the same round trip.
    ///
    /// - Returns: the count; and what Redis said of the record, if it was asked.
    func count(
        _ name: LimitName, for subject: Subject, readsRecord: Bool
    ) async -> (Result<LimitCount, RedisError>, Result<RedisReply, RedisError>?) {
        let question = question(name, subject)
        guard readsRecord else {
            do throws(RedisError) { return (LimitCount.read(try await redis.run(question.count)), nil) } catch {
                return (.failure(error), nil)
            }
        }
        let (count, record) = await redis.run(question.count, beside: question.record)
        return (count.flatMap(LimitCount.read), record)
    }

    /// The route's word on going on without Redis.
    func decideWithoutRedis(
        _ name: LimitName, _ subject: Subject, _ limit: Settings.Limit, _ error: RedisError
    ) -> LimitDecision {
        onRedisFailure?(error)
        guard limit.whenRedisIsAway == .open else {
            return LimitDecision(verdict: .closed, remaining: 0, reset: .seconds(1))
        }
        return local.take("\(name.rawValue):\(subject.party)", limit: limit)
    }

    /// What is asked for one subject. Who asks once mostly asks again, and it is the same then.
    private func question(_ name: LimitName, _ subject: Subject) -> Question {
        let id = Asker(name: name, party: subject.party, user: subject.userID)
        if let known = questions[id] { return known }
        let key = "\(keyPrefix)limit:\(name.rawValue):\(subject.party)"
        let question = Question(
            count: script.call(keys: [key], arguments: [String(limit(name).window.milliseconds)]),
            record: UserRecords.read(subject.userID, prefix: keyPrefix))
        if questions.count >= 4096 { questions.removeAll(keepingCapacity: true) }
        questions[id] = question
        return question
    }

    private struct Asker: Hashable {
        let name: LimitName
        let party: String
        let user: UserID
    }

    private struct Question {
        let count: RedisScript.Call
        let record: RedisCommand
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

/// How many requests a window has seen, and how long it lasts.
struct LimitCount: Sendable {
    let count: Int
    let left: Duration

    /// Reads the script's answer.
    static func read(_ reply: RedisReply) -> Result<LimitCount, RedisError> {
        guard case .array(let parts) = reply, parts.count == 2, case .integer(let count) = parts[0],
            case .integer(let milliseconds) = parts[1]
        else { return .failure(.refused(code: "MALFORMED")) }
        return .success(LimitCount(count: count, left: .milliseconds(max(0, milliseconds))))
    }

    func decision(by limit: Settings.Limit) -> LimitDecision {
        LimitDecision(
            verdict: count <= limit.requests ? .allowed : .refused, remaining: max(0, limit.requests - count),
            reset: left)
    }
}

extension Duration {
    /// Whole milliseconds.
    package var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
