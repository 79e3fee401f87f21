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

    /// What is left of one window.
    package struct Window: Sendable, Equatable {
        package let remaining: Int
        /// Until it ends.
        package let reset: Duration
    }

    package let verdict: Verdict
    /// The window that refuses; of several, the one that ends last.
    package let refusing: LimitName?
    /// Whether that is the user's, of all devices.
    package let refusesUser: Bool
    /// The device's.
    package let requests: Window
    package let volume: Window?
    package let userRequests: Window
    package let userVolume: Window?
    /// When the same may be asked again.
    package let retryAfter: Duration

    package var isAllowed: Bool { verdict == .allowed || verdict == .open }

    /// Redis is away, and nobody knows.
    static let closed = LimitDecision(
        verdict: .closed, refusing: nil, refusesUser: false, requests: Window(remaining: 0, reset: .zero), volume: nil,
        userRequests: Window(remaining: 0, reset: .zero), userVolume: nil, retryAfter: .seconds(1))
}

extension LimitDecision {
    /// - Parameters:
    ///   - count: what the windows held before.
    ///   - isLocal: whether this process alone has counted.
    init(_ charge: Charge, _ count: LimitCount, by terms: LimitTerms, isLocal: Bool = false) {
        let refusing = count.refusal(charge, by: terms)
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
        let (one, amount) = refusing == nil ? (1, charge.volume) : (0, 0)
        requests = Window(count.device.requests, quota: terms.requests.quota, taken: one)
        userRequests = Window(count.user.requests, quota: terms.requests.userQuota, taken: one)
        volume = terms.volume.flatMap { limit in
            count.device.volume.map { Window($0, quota: limit.quota, taken: amount) }
        }
        userVolume = terms.volume.flatMap { limit in
            count.user.volume.map { Window($0, quota: limit.userQuota, taken: amount) }
        }
        retryAfter = refusing?.left ?? .zero
    }
}

extension LimitDecision.Window {
    fileprivate init(_ window: LimitCount.Window, quota: Int, taken: Int) {
        self.init(remaining: max(0, quota - window.used - taken), reset: window.left)
    }
}
