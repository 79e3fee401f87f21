import CloakroomHTTP

/// Whether one more request may be served, and what the client learns about the next ones.
package struct RateLimitDecision: Sendable, Equatable {
    package enum Verdict: String, Sendable, CaseIterable {
        case allowed
        case refused
        /// Redis is unreachable, and the route goes on under a limit of this process alone.
        case open
        /// The same, and that limit is used up.
        case openRefused = "open_refused"
        /// Redis is unreachable, and the route does not go on without it.
        case closed
    }

    /// What is left of one window.
    package struct Window: Sendable, Equatable {
        package fileprivate(set) var remaining: Int
        /// Until it ends.
        let left: Milliseconds
        /// Whether it was used up before, and lets in all the same what is given up.
        var isExceeded = false
    }

    package let verdict: Verdict
    /// The window that refuses; of several, the one that ends last.
    package let refusing: RateLimitName?
    /// Whether that is the user's, of all devices.
    package let refusesUser: Bool
    /// The device's.
    package private(set) var requests: Window
    package private(set) var quantity: Window?
    package private(set) var userRequests: Window
    package private(set) var userQuantity: Window?
    /// Until the same may be requested again.
    let wait: Milliseconds
    /// The most keys or bytes that a window ever lets in, where more are requested: waiting would not help.
    var maximum: Int?

    package var isAllowed: Bool { verdict == .allowed || verdict == .open }

    /// Redis is unreachable, and the state is unknown.
    static let closed = RateLimitDecision(
        verdict: .closed, refusing: nil, refusesUser: false, requests: Window(remaining: 0, left: .zero),
        quantity: nil,
        userRequests: Window(remaining: 0, left: .zero), userQuantity: nil, wait: .milliseconds(1000))
}

extension RateLimitDecision {
    /// - Parameters:
    ///   - count: what the windows held before.
    ///   - isLocal: whether this process alone has counted.
    init(_ cost: RateLimitCost, _ count: RateLimitCount, by terms: RateLimitPolicy, isLocal: Bool = false) {
        let refusing = count.refusal(cost, by: terms)
        self.refusing = refusing?.name
        refusesUser = refusing?.isOfUser == true
        verdict =
            switch (refusing, isLocal) {
            case (nil, false): .allowed
            case (nil, true): .open
            case (_?, false): .refused
            case (_?, true): .openRefused
            }
        // All or nothing: what is refused has taken nothing.
        let (one, amount) = refusing == nil ? (1, cost.quantity) : (0, 0)
        requests = Window(count.device.requests, quota: terms.requests.quota, taken: one)
        userRequests = Window(count.user.requests, quota: terms.requests.userQuota, taken: one)
        quantity = terms.quantity.flatMap { limit in
            count.device.quantity.map { Window($0, quota: limit.quota, taken: amount) }
        }
        userQuantity = terms.quantity.flatMap { limit in
            count.user.quantity.map { Window($0, quota: limit.userQuota, taken: amount) }
        }
        wait = refusing?.left ?? .zero
        let most = terms.quantity.map { min($0.quota, $0.userQuota) }
        maximum = most.flatMap { $0 < cost.quantity ? $0 : nil }
    }
}

extension RateLimitDecision {
    /// What is left where a request that was let in is given back, or its keys or bytes are.
    func refunding(_ refund: RateLimitRefund, of cost: RateLimitCost) -> RateLimitDecision {
        guard isAllowed else { return self }
        var decision = self
        if refund == .all {
            decision.requests.remaining += 1
            decision.userRequests.remaining += 1
        }
        decision.quantity?.remaining += cost.quantity
        decision.userQuantity?.remaining += cost.quantity
        return decision
    }
}

extension RateLimitDecision.Window {
    fileprivate init(_ window: RateLimitCount.Window, quota: Int, taken: Int) {
        let remaining = quota - window.used - taken
        self.init(remaining: max(0, remaining), left: window.left, isExceeded: taken > 0 && remaining < 0)
    }
}

extension Settings.Limit {
    /// An element of `RateLimit-Policy`, such as `"renew";q=10;w=3600`, or `"renewKeys";q=1000;w=3600;qu="keys"`.
    func policy(named name: RateLimitName) -> String { policy(name.rawValue, quota, name) }

    /// The same of the window of all devices of a user, such as `"renewUser";q=40;w=3600`.
    func userPolicy(named name: RateLimitName) -> String { policy(name.ofUser, userQuota, name) }

    private func policy(_ text: String, _ quota: Int, _ name: RateLimitName) -> String {
        let unit = name.unit.map { ";qu=\"\($0)\"" } ?? ""
        return "\"\(text)\";q=\(quota);w=\(window.components.seconds)\(unit)"
    }
}

extension HeaderFields {
    /// Adds `RateLimit-Policy` and `RateLimit`, a list each (draft-ietf-httpapi-ratelimit-headers), and `Retry-After`
    /// on a refusal that does not last.
    mutating func add(_ terms: RateLimitPolicy, _ decision: RateLimitDecision) {
        if decision.verdict != .closed {
            // The fields of most responses are everybody's until here: they are copied once.
            reserve(fields: count + 3, bytes: text.count + terms.field.text.count + Self.rateLimitBytes)
            add(terms.field)
            add("RateLimit", addingCapacity: Self.rateLimitBytes) { text in
                text.append(decision.requests, terms.label)
                if let quantity = decision.quantity { text.append(next: quantity, terms.quantityLabel) }
                text.append(next: decision.userRequests, terms.userLabel)
                if let quantity = decision.userQuantity { text.append(next: quantity, terms.userQuantityLabel) }
            }
        }
        if !decision.isAllowed, decision.maximum == nil {
            add("Retry-After", String(Swift.max(1, decision.wait.wholeSeconds)))
        }
    }

    /// Four windows of at most 72 bytes, and the name.
    private static let rateLimitBytes = 320
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(next window: RateLimitDecision.Window, _ label: [UInt8]) {
        append(UInt8(ascii: ","))
        append(UInt8(ascii: " "))
        append(window, label)
    }

    /// Writes an element of `RateLimit`, such as `"renew";r=9;t=3600`: at most 70 bytes.
    fileprivate mutating func append(_ window: RateLimitDecision.Window, _ label: [UInt8]) {
        let label = label[...]
        append(copying: label.span)
        append(decimal: window.remaining)
        append(UInt8(ascii: ";"))
        append(UInt8(ascii: "t"))
        append(UInt8(ascii: "="))
        append(decimal: window.left.wholeSeconds)
    }
}
