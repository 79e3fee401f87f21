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
}

extension RateLimitCount {
    /// Reads the response of the script, or each of its two calls: used and left of each window, before the request was
    /// counted.
    static func read(_ cursor: inout RedisReplyCursor, isSplit: Bool, hasQuantity: Bool) -> Result<
        RateLimitCount, RedisError
    > {
        if let refusal = cursor.refusal { return .failure(refusal) }
        let values = hasQuantity ? 4 : 2
        guard cursor.next() == .array(isSplit ? values : 2 * values), let device = Pair(&cursor, hasQuantity) else {
            return .failure(.refused(code: "MALFORMED"))
        }
        if isSplit {
            cursor.goTo(reply: 1)
            if let refusal = cursor.refusal { return .failure(refusal) }
            guard cursor.next() == .array(values) else { return .failure(.refused(code: "MALFORMED")) }
        }
        guard let user = Pair(&cursor, hasQuantity) else { return .failure(.refused(code: "MALFORMED")) }
        return .success(RateLimitCount(device: device, user: user))
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
