import CloakroomRedis

/// What of a counted request is given back.
enum RateLimitRefund {
    case all
    /// Its keys or bytes. The request stays counted: a flood of requests that come to nothing is one all the same.
    case quantity
}

/// What is sent to Redis for one subject's requests of one kind; kept, for a client mostly sends more.
final class RateLimitRequest: Sendable {
    /// Whose requests are counted together, and whose record is read with the count.
    struct Client: Hashable {
        let name: RateLimitName
        let owner: String
        let device: String

        init(_ cost: RateLimitCost, _ subject: Subject) {
            name = cost.name
            owner = subject.owner
            device = subject.device
        }

        /// Users may share a device: many of them must not share one place in a table.
        func hash(into hasher: inout Hasher) {
            hasher.combine(owner)
            hasher.combine(device)
        }
    }

    let cost: RateLimitCost
    let subject: Subject
    /// By which Redis refuses.
    let terms: RateLimitPolicy
    let redisRequest: RedisRequest

    init(_ cost: RateLimitCost, _ subject: Subject, by terms: RateLimitPolicy, _ redisRequest: RedisRequest) {
        self.cost = cost
        self.subject = subject
        self.terms = terms
        self.redisRequest = redisRequest
    }

    /// Whether the device's windows and the user's are counted by a call each: they may lie in different slots.
    var isSplit: Bool { subject.provenDevice != nil }
    var readsRecord: Bool { redisRequest.replies == (isSplit ? 3 : 2) }

    /// Whether it is just what its client requests now. A token may come that names another tier.
    func isFor(_ cost: RateLimitCost, _ subject: Subject, readsRecord: Bool) -> Bool {
        cost == self.cost && readsRecord == self.readsRecord && subject.tier == self.subject.tier
            && subject.provenDevice == self.subject.provenDevice
    }

    /// What of the request Redis has counted: all or nothing by each call.
    func countedLevels(_ count: RateLimitCount) -> RateLimitLevels {
        let admitting = count.admitting(cost, by: terms)
        return isSplit || admitting == .all ? admitting : []
    }

    /// What one of two calls has counted, where the other has failed.
    func countedLevels(_ cursor: RedisReplyCursor) -> RateLimitLevels {
        guard isSplit else { return [] }
        var (cursor, counted) = (cursor, RateLimitLevels())
        for (reply, level) in [RateLimitLevels.device, .user].enumerated() {
            cursor.goTo(reply: reply)
            guard case .success(let pair) = RateLimitCount.pair(&cursor, hasQuantity: terms.quantity != nil) else {
                continue
            }
            counted.formUnion(level.intersection(RateLimitCount(device: pair, user: pair).admitting(cost, by: terms)))
        }
        return counted
    }
}

extension RateLimitCount {
    /// Reads the response of the script, or each of its two calls: used and left of each window, before the request was
    /// counted.
    static func read(_ cursor: inout RedisReplyCursor, isSplit: Bool, hasQuantity: Bool) -> Result<
        RateLimitCount, RedisError
    > {
        if isSplit {
            let device = pair(&cursor, hasQuantity: hasQuantity)
            cursor.goTo(reply: 1)
            return device.flatMap { device in
                pair(&cursor, hasQuantity: hasQuantity).map { RateLimitCount(device: device, user: $0) }
            }
        }
        if let refusal = cursor.refusal { return .failure(refusal) }
        guard cursor.next() == .array(hasQuantity ? 8 : 4), let device = Pair(&cursor, hasQuantity),
            let user = Pair(&cursor, hasQuantity)
        else { return .failure(.refused(code: "MALFORMED")) }
        return .success(RateLimitCount(device: device, user: user))
    }

    /// Reads the response of one of two calls.
    fileprivate static func pair(_ cursor: inout RedisReplyCursor, hasQuantity: Bool) -> Result<Pair, RedisError> {
        if let refusal = cursor.refusal { return .failure(refusal) }
        guard cursor.next() == .array(hasQuantity ? 4 : 2), let pair = Pair(&cursor, hasQuantity) else {
            return .failure(.refused(code: "MALFORMED"))
        }
        return .success(pair)
    }

    static func read(_ answer: RedisResponse, of request: RateLimitRequest) -> Result<RateLimitCount, RedisError> {
        switch answer {
        case .failure(let error): .failure(error)
        case .reply(var cursor):
            read(&cursor, isSplit: request.isSplit, hasQuantity: request.terms.quantity != nil)
        }
    }
}

extension RateLimitCount.Pair {
    fileprivate init?(_ cursor: inout RedisReplyCursor, _ hasQuantity: Bool) {
        guard let requests = RateLimitCount.Window(&cursor) else { return nil }
        guard hasQuantity else {
            self.init(requests: requests, quantity: nil)
            return
        }
        guard let quantity = RateLimitCount.Window(&cursor) else { return nil }
        self.init(requests: requests, quantity: quantity)
    }
}

extension RateLimitCount.Window {
    /// A year.
    private static let longestMilliseconds = 366 * 86_400_000

    /// What was used, and the milliseconds that are left: neither is below zero, whatever Redis sends.
    fileprivate init?(_ cursor: inout RedisReplyCursor) {
        guard case .integer(let used) = cursor.next(), case .integer(let milliseconds) = cursor.next() else {
            return nil
        }
        // The longest window is far shorter, and no count comes near.
        self.init(
            used: min(max(0, used), 1 << 53), left: .milliseconds(min(max(0, milliseconds), Self.longestMilliseconds)))
    }
}
