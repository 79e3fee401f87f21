import CloakroomCrypto
package import CloakroomLoop
package import CloakroomRedis

/// Fixed windows from the first request, counted in Redis for all workers and hosts together.
@LoopActor
package final class RateLimiter {
    /// Of the Redis client, taken once: a request, which needs nothing else of it, goes through no existential.
    private let sendToRedis: @LoopActor (RedisRequest, @escaping @LoopActor (RedisResponse) -> Void) -> Void
    private let keyPrefix: String
    private let limitPrefix: String
    private var local = LocalRateLimiter(capacity: 100_000)
    /// As many as tokens are remembered.
    private var cachedRequests = GenerationalCache<RateLimitRequest.Client, RateLimitRequest>(capacity: 10_000)

    /// Called with why Redis could not count.
    package var onRedisFailure: (@LoopActor (RedisError) -> Void)?

    package init(redis: some RedisClient, keyPrefix: String) {
        sendToRedis = { request, completion in redis.send(request, completion) }
        self.keyPrefix = keyPrefix
        limitPrefix = keyPrefix + "limit:"
    }

    /// Only what is sent to Redis, never what is counted.
    func forgetCachedRequests() { cachedRequests.removeAll() }

    /// Counts one request of the subject and of its device.
    ///
    /// - Parameters:
    ///   - terms: those of the subject's tier.
    ///   - completion: called once; before this returns if Redis is unreachable.
    func count(
        _ cost: RateLimitCost, for subject: Subject, by terms: RateLimitPolicy,
        _ completion: @escaping @LoopActor (RateLimitDecision) -> Void
    ) {
        // Not cached: it comes for what is seldom, as new credentials, and would take the place of what comes again.
        let request = made(cost, subject, terms, readsRecord: false)
        send(request) { [self] response in
            completion(decision(request, response))
        }
    }

    /// The same, for a caller that waits.
    func count(_ cost: RateLimitCost, for subject: Subject, by terms: RateLimitPolicy) async -> RateLimitDecision {
        await withCheckedContinuation { continuation in
            count(cost, for: subject, by: terms) { continuation.resume(returning: $0) }
        }
    }

    /// Gives back what was counted of a request that was let in, where nothing came of it.
    ///
    /// - Parameter decision: the one that let it in; any other is ignored.
    func refund(
        _ refund: RateLimitRefund = .all, of cost: RateLimitCost, for subject: Subject, _ decision: RateLimitDecision,
        by terms: RateLimitPolicy
    ) {
        guard refund == .all || cost.quantity > 0 && terms.quantity != nil else { return }
        switch decision.verdict {
        case .allowed: sendToRedis(RedisRequest(calls(cost, subject, terms, refunding: refund))) { _ in }
        case .open: local.refund(refund, of: cost, Self.localDevice(of: subject), user: subject.owner)
        case .refused, .openRefused, .closed: break
        }
    }

    private func decision(_ request: RateLimitRequest, _ response: RedisResponse) -> RateLimitDecision {
        switch RateLimitCount.read(response, of: request) {
        case .success(let count):
            let decision = RateLimitDecision(request.cost, count, by: request.terms)
            if !decision.isAllowed { refund(request.countedLevels(count), of: request, by: request.terms) }
            return decision
        case .failure(let error):
            let decision = decideWithoutRedis(request, by: request.terms, error)
            if !decision.isAllowed, case .reply(let cursor) = response {
                refund(request.countedLevels(cursor), of: request, by: request.terms)
            }
            return decision
        }
    }

    /// What counts one request and, if it is to, reads the user's record in the same round trip.
    ///
    /// Redis refuses by the terms that the subject had at its last request here, for the record may come no earlier than
    /// the count. When those have changed since, ``recount(_:by:_:)`` puts a refusal right.
    /// - Parameter terms: for a subject without an earlier request here.
    func request(
        _ cost: RateLimitCost, _ subject: Subject, expecting terms: @autoclosure () -> RateLimitPolicy,
        readsRecord: Bool
    ) -> RateLimitRequest {
        let known = cachedRequests.value(for: RateLimitRequest.Client(cost, subject))
        if let known, known.isFor(cost, subject, readsRecord: readsRecord) { return known }
        return keep(cost, subject, known?.terms ?? terms(), readsRecord: readsRecord)
    }

    func send(_ request: RateLimitRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        sendToRedis(request.redisRequest, completion)
    }

    /// Counts a request again that was refused by terms of another tier.
    func recount(
        _ request: RateLimitRequest, by terms: RateLimitPolicy,
        _ completion: @escaping @LoopActor (Result<RateLimitCount, RedisError>) -> Void
    ) {
        let request = remember(terms, of: request)
        let redisRequest = RedisRequest(calls(request.cost, request.subject, terms), mayRepeat: true)
        sendToRedis(redisRequest) { [self] answer in
            let count = RateLimitCount.read(answer, of: request)
            if case .success(let before) = count, request.countedLevels(before) != .all {
                refund(request.countedLevels(before), of: request, by: terms)
            }
            if case .failure = count, case .reply(let cursor) = answer, terms.requests.whenRedisIsAway != .open {
                refund(request.countedLevels(cursor), of: request, by: terms)
            }
            completion(count)
        }
    }

    /// Gives back what was counted of a request that is refused by other windows, or by the terms of another tier.
    ///
    /// - Parameter completion: called when that is done; without Redis there is nothing to give back to.
    func refund(
        _ parts: RateLimitLevels, of request: RateLimitRequest, by terms: RateLimitPolicy,
        _ completion: @escaping @LoopActor () -> Void = {}
    ) {
        guard !parts.isEmpty else { return completion() }
        let calls = calls(request.cost, request.subject, terms, of: parts, refunding: .all)
        sendToRedis(RedisRequest(calls)) { _ in completion() }
    }

    /// Stores the terms of a client.
    @discardableResult
    func remember(_ terms: RateLimitPolicy, of request: RateLimitRequest) -> RateLimitRequest {
        keep(request.cost, request.subject, terms, readsRecord: request.readsRecord)
    }

    /// The route's word on going on without Redis.
    func decideWithoutRedis(_ request: RateLimitRequest, by terms: RateLimitPolicy, _ error: RedisError)
        -> RateLimitDecision
    {
        onRedisFailure?(error)
        guard terms.requests.whenRedisIsAway == .open else { return .closed }
        let subject = request.subject
        return local.count(request.cost, Self.localDevice(of: subject), user: subject.owner, by: terms)
    }

    private static func localDevice(of subject: Subject) -> String {
        subject.provenDevice ?? subject.owner + subject.device
    }

    /// A client with one request mostly sends more, and mostly for as much.
    private func keep(
        _ cost: RateLimitCost, _ subject: Subject, _ terms: RateLimitPolicy, readsRecord: Bool
    ) -> RateLimitRequest {
        let request = made(cost, subject, terms, readsRecord: readsRecord)
        cachedRequests.insert(request, for: RateLimitRequest.Client(cost, subject))
        return request
    }

    private func made(
        _ cost: RateLimitCost, _ subject: Subject, _ terms: RateLimitPolicy, readsRecord: Bool
    ) -> RateLimitRequest {
        let record = readsRecord ? UserRecords.read(subject.userID, prefix: keyPrefix) : nil
        return RateLimitRequest(
            cost, subject, by: terms, RedisRequest(calls(cost, subject, terms), beside: record, mayRepeat: true))
    }

    /// One call for the windows of device and user, which have one hash tag; one each for a device that its issuer proves.
    ///
    /// - Parameter refund: `nil` to count.
    private func calls(
        _ cost: RateLimitCost, _ subject: Subject, _ terms: RateLimitPolicy, of parts: RateLimitLevels = .all,
        refunding refund: RateLimitRefund? = nil
    ) -> [RedisScript.Call] {
        let user = Party(tag: subject.owner, device: nil, isUser: true)
        guard let device = subject.provenDevice else {
            let device = Party(tag: subject.owner, device: subject.device, isUser: false)
            return [call([device, user], cost, terms, refund)]
        }
        var calls: [RedisScript.Call] = []
        if parts.contains(.device) {
            calls.append(call([Party(tag: device, device: nil, isUser: false)], cost, terms, refund))
        }
        if parts.contains(.user) { calls.append(call([user], cost, terms, refund)) }
        return calls
    }

    /// Whose requests are counted together.
    private struct Party {
        /// On a cluster all windows of a call lie in one slot.
        let tag: String
        /// Where the tag is the user's.
        let device: String?
        let isUser: Bool
    }

    private func call(
        _ parties: [Party], _ cost: RateLimitCost, _ terms: RateLimitPolicy, _ refund: RateLimitRefund?
    ) -> RedisScript.Call {
        let sign = refund == nil ? 1 : -1
        var counted: [(name: RateLimitName, limit: Settings.Limit, cost: Int)] = []
        if refund != .quantity { counted.append((cost.name, terms.requests, sign)) }
        if let name = cost.name.quantity, let quantity = terms.quantity {
            counted.append((name, quantity, sign * cost.quantity))
        }
        let windows = parties.count * counted.count
        return Self.script.call(keys: windows, arguments: 3 * windows, bytes: 150 * windows) { words in
            for party in parties {
                for each in counted {
                    if let device = party.device {
                        words.append(limitPrefix, each.name.rawValue, ":{", party.tag, "}:", device)
                    } else {
                        words.append(limitPrefix, each.name.rawValue, ":{", party.tag, "}")
                    }
                }
            }
            for party in parties {
                for each in counted {
                    let quota = party.isUser ? each.limit.userQuota : each.limit.quota
                    words.append(each.cost)
                    words.append(each.name == cost.name ? cost.bound(quota) : quota)
                    words.append(each.limit.window.milliseconds)
                }
            }
        }
    }

    /// Adds to all windows or to none. A key without an end, or with one beyond its window (Redis' clock was set back, or
    /// the setting was longer), however it came to be, is given one. A window that is given back whole has not begun.
    static let script = RedisScript(
        text: """
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
            """)
}

extension RedisScript {
    /// - Parameter text: in Lua; Redis keeps it under its SHA-1.
    package init(text: String) { self.init(source: text, digest: SHA1.hash(Array(text.utf8)).hexadecimal) }
}
