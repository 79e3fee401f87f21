import Loop

/// The same windows, counted by this process alone, while Redis is away.
struct LocalWindows {
    private struct Window {
        var used = 0
        let end: UInt64
    }

    private struct ID: Hashable {
        let name: LimitName
        let party: String
    }

    private let capacity: Int
    private var windows: [ID: Window] = [:]

    init(capacity: Int) { self.capacity = capacity }

    /// All or nothing, as in Redis.
    mutating func take(
        _ charge: Charge, _ party: String, by terms: LimitTerms, now: UInt64 = Monotonic.now
    ) -> LimitDecision {
        let requests = ID(name: charge.name, party: party)
        let volume = charge.name.volume.map { ID(name: $0, party: party) }
        // Once for both: room made for the second must not take the first.
        makeRoom(for: [requests, volume].compactMap(\.self), now)
        let count = LimitCount(
            requests: open(requests, terms.requests, now),
            volume: volume.flatMap { id in terms.volume.map { open(id, $0, now) } })
        let decision = LimitDecision(charge, count, by: terms, isLocal: true)
        if decision.isAllowed {
            windows[requests]?.used += 1
            if let volume { windows[volume]?.used += charge.volume }
        }
        return decision
    }

    /// The window as it is, or a new one.
    private mutating func open(_ id: ID, _ limit: Settings.Limit, _ now: UInt64) -> LimitCount.Window {
        let window = windows[id].flatMap { $0.end > now ? $0 : nil } ?? Window(end: now &+ limit.window.nanoseconds)
        windows[id] = window
        return LimitCount.Window(used: window.used, left: .nanoseconds(Int64(clamping: window.end - now)))
    }

    private mutating func makeRoom(for ids: [ID], _ now: UInt64) {
        guard !hasRoom(for: ids) else { return }
        windows = windows.filter { $0.value.end > now }
        // Still full of open windows: one flood of names must not cost memory without bound, nor lock anyone out.
        if !hasRoom(for: ids) { windows = [:] }
    }

    private func hasRoom(for ids: [ID]) -> Bool { windows.count + ids.count { windows[$0] == nil } <= capacity }
}
