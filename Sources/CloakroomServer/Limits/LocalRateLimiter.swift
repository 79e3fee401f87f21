import CloakroomLoop

/// The same windows, counted by this process alone, while Redis is unreachable.
struct LocalRateLimiter {
    private struct Window {
        var used = 0
        let end: UInt64
    }

    private struct ID: Hashable {
        let name: RateLimitName
        let party: String
        let isOfUser: Bool
    }

    private let capacity: Int
    private var windows: [ID: Window] = [:]

    init(capacity: Int) { self.capacity = capacity }

    /// All or nothing, as in Redis.
    ///
    /// - Parameters:
    ///   - device: whose windows are counted beside the user's.
    ///   - user: `nil` for the same name.
    mutating func count(
        _ cost: RateLimitCost, _ device: String, user: String? = nil, by terms: RateLimitPolicy,
        now: UInt64 = Monotonic.now
    ) -> RateLimitDecision {
        let ofDevice = IDs(cost.name, device, isOfUser: false)
        let ofUser = IDs(cost.name, user ?? device, isOfUser: true)
        let ids = [ofDevice.requests, ofDevice.quantity, ofUser.requests, ofUser.quantity].compactMap(\.self)
        // Once for all: room made for a later one must not take an earlier one.
        makeRoom(for: ids, now)
        let count = RateLimitCount(device: open(ofDevice, terms, now), user: open(ofUser, terms, now))
        let decision = RateLimitDecision(cost, count, by: terms, isLocal: true)
        if decision.isAllowed {
            for id in ids { windows[id]?.used += id.name == cost.name ? 1 : cost.quantity }
        }
        return decision
    }

    /// Gives back what ``count(_:_:user:by:now:)`` let in. Windows that have ended since are left alone.
    mutating func refund(
        _ refund: RateLimitRefund, of cost: RateLimitCost, _ device: String, user: String? = nil,
        now: UInt64 = Monotonic.now
    ) {
        for ids in [IDs(cost.name, device, isOfUser: false), IDs(cost.name, user ?? device, isOfUser: true)] {
            if refund == .all { lower(ids.requests, by: 1, now) }
            if let quantity = ids.quantity { lower(quantity, by: cost.quantity, now) }
        }
    }

    private mutating func lower(_ id: ID, by amount: Int, _ now: UInt64) {
        guard let window = windows[id], window.end > now else { return }
        windows[id]?.used = max(0, window.used - amount)
    }

    /// The windows of a device, or of a user.
    private struct IDs {
        let requests: ID
        let quantity: ID?

        init(_ name: RateLimitName, _ party: String, isOfUser: Bool) {
            requests = ID(name: name, party: party, isOfUser: isOfUser)
            quantity = name.quantity.map { ID(name: $0, party: party, isOfUser: isOfUser) }
        }
    }

    private mutating func open(_ ids: IDs, _ terms: RateLimitPolicy, _ now: UInt64) -> RateLimitCount.Pair {
        RateLimitCount.Pair(
            requests: open(ids.requests, terms.requests, now),
            quantity: ids.quantity.flatMap { id in terms.quantity.map { open(id, $0, now) } })
    }

    /// The window as it is, or a new one.
    private mutating func open(_ id: ID, _ limit: Settings.Limit, _ now: UInt64) -> RateLimitCount.Window {
        let window = windows[id].flatMap { $0.end > now ? $0 : nil } ?? Window(end: now &+ limit.window.nanoseconds)
        windows[id] = window
        let left = Int(clamping: (window.end - now) / 1_000_000)
        return RateLimitCount.Window(used: window.used, left: .milliseconds(left))
    }

    private mutating func makeRoom(for ids: [ID], _ now: UInt64) {
        guard !hasRoom(for: ids) else { return }
        windows = windows.filter { $0.value.end > now }
        // Still full of open windows: one flood of names must not cost memory without bound, nor lock anyone out.
        if !hasRoom(for: ids) { windows = [:] }
    }

    private func hasRoom(for ids: [ID]) -> Bool { windows.count + ids.count { windows[$0] == nil } <= capacity }
}
