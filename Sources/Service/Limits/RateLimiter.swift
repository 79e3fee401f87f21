import CloakroomCrypto
package import Loop
package import Redis

/// Fixed windows from the first request, counted in Redis for all workers and hosts together.
@LoopActor
package final class RateLimiter {
    private let redis: RedisConnection
    private let keyPrefix: String
    private let limits: Settings.Limits
    static let script = RedisScript(
        source: RateLimiter.source, digest: SHA1.hash(Array(RateLimiter.source.utf8)).hexadecimal)
    private var local = LocalWindows(capacity: 100_000)
    private var questions: [LimitQuestion.Asker: LimitQuestion] = [:]

    /// Called with why Redis did not answer; the word is for a metric.
    package var onRedisFailure: (@LoopActor (RedisError) -> Void)?

    package init(redis: RedisConnection, keyPrefix: String, limits: Settings.Limits) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        self.limits = limits
    }

    /// Counts one request of the subject's device, else of the subject, by the limits of everybody.
    package func take(_ charge: Charge, for subject: Subject) async -> LimitDecision {
        let question = question(charge, subject, expecting: LimitTerms(charge.name, limits), readsRecord: false)
        do throws(RedisError) {
            let count = try await withCheckedContinuation { continuation in
                ask(question) { continuation.resume(returning: LimitCount.read($0, by: question.terms)) }
            }.get()
            return LimitDecision(charge, count, by: question.terms)
        } catch {
            return decideWithoutRedis(question, by: question.terms, error)
        }
    }

    /// What counts one request and, if it is to, asks for the user's record in the same round trip.
    ///
    /// Redis refuses by the terms that the subject had when it last asked here, for the record may come no earlier than
    /// the count. When those have changed since, ``recount(_:by:_:)`` puts a refusal right.
    /// - Parameter terms: for a subject that has not asked here before.
    func question(
        _ charge: Charge, _ subject: Subject, expecting terms: @autoclosure () -> LimitTerms, readsRecord: Bool
    ) -> LimitQuestion {
        let known = questions[LimitQuestion.Asker(charge, subject)]
        if let known, known.isFor(charge, subject, readsRecord: readsRecord) { return known }
        return keep(charge, subject, known?.terms ?? terms(), readsRecord: readsRecord)
    }

    func ask(_ question: LimitQuestion, _ completion: @escaping @LoopActor (RedisAnswer) -> Void) {
        redis.ask(question.words, completion)
    }

    /// Counts a request again that was refused by terms of another tier.
    func recount(
        _ question: LimitQuestion, by terms: LimitTerms,
        _ completion: @escaping @LoopActor (Result<LimitCount, RedisError>) -> Void
    ) {
        learn(terms, of: question)
        redis.ask(RedisQuestion(call(question.charge, question.subject, terms), mayRepeat: true)) {
            completion(LimitCount.read($0, by: terms))
        }
    }

    /// Gives back what was counted by terms of another tier, and is refused by those that hold.
    ///
    /// - Parameter completion: called when that is done; without Redis there is nothing to give back to.
    func giveBack(_ question: LimitQuestion, by terms: LimitTerms, _ completion: @escaping @LoopActor () -> Void) {
        redis.ask(RedisQuestion(call(question.charge, question.subject, terms, sign: -1))) { _ in completion() }
    }

    /// Takes note of the terms that an asker has.
    func learn(_ terms: LimitTerms, of question: LimitQuestion) {
        _ = keep(question.charge, question.subject, terms, readsRecord: question.readsRecord)
    }

    /// The route's word on going on without Redis.
    func decideWithoutRedis(_ question: LimitQuestion, by terms: LimitTerms, _ error: RedisError) -> LimitDecision {
        onRedisFailure?(error)
        guard terms.requests.whenRedisIsAway == .open else { return .closed }
        return local.take(question.charge, question.subject.party, by: terms)
    }

    /// Who asks once mostly asks again, and mostly for as much.
    private func keep(
        _ charge: Charge, _ subject: Subject, _ terms: LimitTerms, readsRecord: Bool
    ) -> LimitQuestion {
        let record = readsRecord ? UserRecords.read(subject.userID, prefix: keyPrefix) : nil
        let question = LimitQuestion(
            charge, subject, by: terms, RedisQuestion(call(charge, subject, terms), beside: record, mayRepeat: true))
        if questions.count >= 4096 { questions.removeAll(keepingCapacity: true) }
        questions[LimitQuestion.Asker(charge, subject)] = question
        return question
    }

    private func call(
        _ charge: Charge, _ subject: Subject, _ terms: LimitTerms, sign: Int = 1
    ) -> RedisScript.Call {
        let key = "\(keyPrefix)limit:\(charge.name.rawValue):\(subject.party)"
        var keys = [key]
        var arguments = [String(sign), String(terms.requests.quota), String(terms.requests.window.milliseconds)]
        if let name = charge.name.volume, let volume = terms.volume {
            // The other key is this one's hash tag: both are in one slot, and the first is what it always was.
            keys.append("\(keyPrefix)limit:\(name.rawValue):{\(key)}")
            arguments += [String(sign * charge.volume), String(volume.quota), String(volume.window.milliseconds)]
        }
        return Self.script.call(keys: keys, arguments: arguments)
    }

    /// Adds to all windows or to none. A key without an end, or with one beyond its window (Redis' clock was set back, or
    /// the setting was longer), however it came to be, is given one. A window that is given back whole has not begun.
    private static let source = """
        local answer, refused = {}, false
        for i = 1, #KEYS do
          local cost, quota = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
          local count = redis.call('INCRBY', KEYS[i], ARGV[3 * i - 2])
          if cost < 0 and count <= 0 then redis.call('DEL', KEYS[i]) end
          local left, window = redis.call('PTTL', KEYS[i]), tonumber(ARGV[3 * i])
          if left < 0 or left > window then
            redis.call('PEXPIRE', KEYS[i], ARGV[3 * i])
            left = window
          end
          refused = refused or (cost > 0 and count > quota)
          answer[2 * i - 1], answer[2 * i] = count - cost, left
        end
        if refused then
          for i = 1, #KEYS do redis.call('DECRBY', KEYS[i], ARGV[3 * i - 2]) end
        end
        return answer
        """
}
