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

    /// Counts one request of the subject and of its device, by the limits of everybody.
    package func take(_ charge: Charge, for subject: Subject) async -> LimitDecision {
        await take(charge, for: subject, by: LimitTerms(charge.name, limits))
    }

    /// - Parameter terms: those of the subject's tier.
    func take(_ charge: Charge, for subject: Subject, by terms: LimitTerms) async -> LimitDecision {
        var question = question(charge, subject, expecting: terms, readsRecord: false)
        if !question.terms.hasQuotas(of: terms) { question = learn(terms, of: question) }
        return await take(question)
    }

    private func take(_ question: LimitQuestion) async -> LimitDecision {
        do throws(RedisError) {
            let count = try await withCheckedContinuation { continuation in
                ask(question) { continuation.resume(returning: LimitCount.read($0, of: question)) }
            }.get()
            let decision = LimitDecision(question.charge, count, by: question.terms)
            if !decision.isAllowed { giveBack(question.taken(count), of: question, by: question.terms) }
            return decision
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
        let question = learn(terms, of: question)
        let words = RedisQuestion(calls(question.charge, question.subject, terms), mayRepeat: true)
        redis.ask(words) { [self] answer in
            let count = LimitCount.read(answer, of: question)
            if case .success(let before) = count, question.taken(before) != .all {
                giveBack(question.taken(before), of: question, by: terms)
            }
            completion(count)
        }
    }

    /// Gives back what was counted of a request that is refused by other windows, or by the terms of another tier.
    ///
    /// - Parameter completion: called when that is done; without Redis there is nothing to give back to.
    func giveBack(
        _ parts: LimitParts, of question: LimitQuestion, by terms: LimitTerms,
        _ completion: @escaping @LoopActor () -> Void = {}
    ) {
        guard !parts.isEmpty else { return completion() }
        let calls = calls(question.charge, question.subject, terms, of: parts, sign: -1)
        redis.ask(RedisQuestion(calls)) { _ in completion() }
    }

    /// Takes note of the terms that an asker has.
    @discardableResult
    func learn(_ terms: LimitTerms, of question: LimitQuestion) -> LimitQuestion {
        keep(question.charge, question.subject, terms, readsRecord: question.readsRecord)
    }

    /// The route's word on going on without Redis.
    func decideWithoutRedis(_ question: LimitQuestion, by terms: LimitTerms, _ error: RedisError) -> LimitDecision {
        onRedisFailure?(error)
        guard terms.requests.whenRedisIsAway == .open else { return .closed }
        let subject = question.subject
        return local.take(
            question.charge, subject.provenDevice ?? subject.owner + subject.device, user: subject.owner, by: terms)
    }

    /// Who asks once mostly asks again, and mostly for as much.
    private func keep(
        _ charge: Charge, _ subject: Subject, _ terms: LimitTerms, readsRecord: Bool
    ) -> LimitQuestion {
        let record = readsRecord ? UserRecords.read(subject.userID, prefix: keyPrefix) : nil
        let question = LimitQuestion(
            charge, subject, by: terms, RedisQuestion(calls(charge, subject, terms), beside: record, mayRepeat: true))
        if questions.count >= 4096 { questions.removeAll(keepingCapacity: true) }
        questions[LimitQuestion.Asker(charge, subject)] = question
        return question
    }

    /// One call for the windows of device and user, which have one hash tag; one each for a device that its issuer proves.
    private func calls(
        _ charge: Charge, _ subject: Subject, _ terms: LimitTerms, of parts: LimitParts = .all, sign: Int = 1
    ) -> [RedisScript.Call] {
        guard let device = subject.provenDevice else {
            var call = Windows(charge, terms, keyPrefix, sign)
            call.add("{\(subject.owner)}:\(subject.device)", terms.requests.quota, terms.volume?.quota)
            call.add("{\(subject.owner)}", terms.requests.userQuota, terms.volume?.userQuota)
            return [Self.script.call(keys: call.keys, arguments: call.arguments)]
        }
        var calls: [RedisScript.Call] = []
        if parts.contains(.device) {
            var call = Windows(charge, terms, keyPrefix, sign)
            call.add("{\(device)}", terms.requests.quota, terms.volume?.quota)
            calls.append(Self.script.call(keys: call.keys, arguments: call.arguments))
        }
        if parts.contains(.user) {
            var call = Windows(charge, terms, keyPrefix, sign)
            call.add("{\(subject.owner)}", terms.requests.userQuota, terms.volume?.userQuota)
            calls.append(Self.script.call(keys: call.keys, arguments: call.arguments))
        }
        return calls
    }

    /// The keys and arguments of a call.
    private struct Windows {
        var keys: [String] = []
        var arguments: [String] = []
        private let charge: Charge
        private let terms: LimitTerms
        private let prefix: String
        private let sign: Int

        init(_ charge: Charge, _ terms: LimitTerms, _ keyPrefix: String, _ sign: Int) {
            self.charge = charge
            self.terms = terms
            prefix = "\(keyPrefix)limit:"
            self.sign = sign
        }

        /// - Parameter party: whose windows, with a hash tag.
        mutating func add(_ party: String, _ quota: Int, _ volumeQuota: Int?) {
            keys.append("\(prefix)\(charge.name.rawValue):\(party)")
            arguments += [String(sign), String(quota), String(terms.requests.window.milliseconds)]
            guard let name = charge.name.volume, let volume = terms.volume, let volumeQuota else { return }
            keys.append("\(prefix)\(name.rawValue):\(party)")
            arguments += [String(sign * charge.volume), String(volumeQuota), String(volume.window.milliseconds)]
        }
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
