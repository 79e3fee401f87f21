import CloakroomCrypto
package import Loop
package import Redis

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

    /// Counts one request of the subject's device, else of the subject, by the limits of everybody.
    package func take(_ charge: Charge, for subject: Subject) async -> LimitDecision {
        let terms = LimitTerms(charge.name, limits)
        let counted = await withCheckedContinuation { continuation in
            count(charge, for: subject, expecting: terms, readsRecord: false) { counted, _ in
                continuation.resume(returning: counted)
            }
        }
        do throws(RedisError) { return LimitDecision(charge, try counted.get().before, by: terms) } catch {
            return decideWithoutRedis(charge, subject, terms, error)
        }
    }

    /// Counts one request, and asks for the user's record in the same round trip.
    ///
    /// Redis refuses by the terms that the subject had when it last asked here, for the record may come no earlier than
    /// the count. When those have changed since, ``recount(_:for:by:_:)`` puts a refusal right.
    /// - Parameters:
    ///   - terms: for a subject that has not asked here before.
    ///   - completion: called with what the windows held before; and what Redis said of the record, if it was asked.
    func count(
        _ charge: Charge, for subject: Subject, expecting terms: @autoclosure () -> LimitTerms, readsRecord: Bool,
        _ completion: @escaping @LoopActor (Result<Counted, RedisError>, RedisOutcome?) -> Void
    ) {
        let question = question(charge, subject, terms)
        redis.run(question.count, beside: readsRecord ? question.record : nil) { count, record in
            completion(count.flatMap { Self.read($0, question.terms) }, record)
        }
    }

    /// Counts a request again that was refused by terms of another tier.
    func recount(
        _ charge: Charge, for subject: Subject, by terms: LimitTerms,
        _ completion: @escaping @LoopActor (Result<Counted, RedisError>) -> Void
    ) {
        learn(terms, charge, subject)
        count(charge, for: subject, expecting: terms, readsRecord: false) { count, _ in completion(count) }
    }

    /// Gives back what was counted by terms of another tier, and is refused by those that hold.
    ///
    /// - Parameter completion: called when that is done; without Redis there is nothing to give back to.
    func giveBack(
        _ charge: Charge, for subject: Subject, by terms: LimitTerms, _ completion: @escaping @LoopActor () -> Void
    ) {
        redis.run(call(charge, subject, terms, sign: -1), beside: nil) { _, _ in completion() }
    }

    /// Takes note of the terms that a subject has.
    func learn(_ terms: LimitTerms, _ charge: Charge, _ subject: Subject) {
        questions[Asker(charge, subject)]?.learn(terms)
    }

    /// The route's word on going on without Redis.
    func decideWithoutRedis(
        _ charge: Charge, _ subject: Subject, _ terms: LimitTerms, _ error: RedisError
    ) -> LimitDecision {
        onRedisFailure?(error)
        guard terms.requests.whenRedisIsAway == .open else { return .closed }
        return local.take(charge, subject.party, by: terms)
    }

    /// What Redis said of a count, and by which terms.
    struct Counted {
        let before: LimitCount
        let terms: LimitTerms
    }

    /// What is asked for one subject. Who asks once mostly asks again, and mostly for as much.
    private func question(_ charge: Charge, _ subject: Subject, _ terms: () -> LimitTerms) -> Question {
        let id = Asker(charge, subject)
        let known = questions[id]
        if let known, known.isFor(charge) { return known }
        let terms = known?.terms ?? terms()
        let question = Question(
            charge: charge, terms: terms, count: call(charge, subject, terms),
            record: known?.record ?? UserRecords.read(subject.userID, prefix: keyPrefix))
        if questions.count >= 4096 { questions.removeAll(keepingCapacity: true) }
        questions[id] = question
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
        return script.call(keys: keys, arguments: arguments)
    }

    private struct Asker: Hashable {
        let name: LimitName
        let party: String
        let user: UserID

        init(_ charge: Charge, _ subject: Subject) {
            name = charge.name
            party = subject.party
            user = subject.userID
        }
    }

    private struct Question {
        let charge: Charge
        private(set) var terms: LimitTerms
        let count: RedisScript.Call
        let record: RedisCommand
        /// Whether the command is by the terms.
        private var isCurrent = true

        init(charge: Charge, terms: LimitTerms, count: RedisScript.Call, record: RedisCommand) {
            self.charge = charge
            self.terms = terms
            self.count = count
            self.record = record
        }

        func isFor(_ charge: Charge) -> Bool { isCurrent && charge == self.charge }

        mutating func learn(_ terms: LimitTerms) {
            self.terms = terms
            isCurrent = false
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

    /// Reads the script's answer: used and left of each window.
    private static func read(_ reply: RedisReply, _ terms: LimitTerms) -> Result<Counted, RedisError> {
        guard case .array(let parts) = reply, parts.count == (terms.volume == nil ? 2 : 4),
            let requests = LimitCount.Window(parts[0], parts[1])
        else { return .failure(.refused(code: "MALFORMED")) }
        guard terms.volume != nil else {
            return .success(Counted(before: LimitCount(requests: requests, volume: nil), terms: terms))
        }
        guard let volume = LimitCount.Window(parts[2], parts[3]) else { return .failure(.refused(code: "MALFORMED")) }
        return .success(Counted(before: LimitCount(requests: requests, volume: volume), terms: terms))
    }
}

extension LimitCount.Window {
    fileprivate init?(_ used: RedisReply, _ left: RedisReply) {
        guard case .integer(let used) = used, case .integer(let milliseconds) = left else { return nil }
        self.init(used: used, left: .milliseconds(max(0, milliseconds)))
    }
}
