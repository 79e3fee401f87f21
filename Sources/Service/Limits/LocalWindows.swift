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
    mutating func take(
        _ charge: Charge, _ device: String, user: String? = nil, by terms: LimitTerms, now: UInt64 = Monotonic.now
    ) -> LimitDecision {
        let ofDevice = IDs(charge.name, device, isOfUser: false)
        let ofUser = IDs(charge.name, user ?? device, isOfUser: true)
        let ids = [ofDevice.requests, ofDevice.volume, ofUser.requests, ofUser.volume].compactMap(\.self)
        // Once for all: room made for a later one must not take an earlier one.
        makeRoom(for: ids, now)
        let count = LimitCount(device: open(ofDevice, terms, now), user: open(ofUser, terms, now))
        let decision = LimitDecision(charge, count, by: terms, isLocal: true)
        if decision.isAllowed {
            for id in ids { windows[id]?.used += id.name == charge.name ? 1 : charge.volume }
        }
        return decision
    }

    /// The windows of a device, or of a user.
    private struct IDs {
        let requests: ID
        let volume: ID?

        init(_ name: LimitName, _ party: String, isOfUser: Bool) {
            requests = ID(name: name, party: party, isOfUser: isOfUser)
            volume = name.volume.map { ID(name: $0, party: party, isOfUser: isOfUser) }
        }
    }

    private mutating func open(_ ids: IDs, _ terms: LimitTerms, _ now: UInt64) -> LimitCount.Pair {
        LimitCount.Pair(
            requests: open(ids.requests, terms.requests, now),
            volume: ids.volume.flatMap { id in terms.volume.map { open(id, $0, now) } })
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
