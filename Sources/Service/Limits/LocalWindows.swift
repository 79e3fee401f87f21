import Loop

/// The same windows, counted by this process alone, while Redis is away.
struct LocalWindows {
    private struct Window {
        var count: Int
        let end: UInt64
    }

    private let capacity: Int
    private var windows: [String: Window] = [:]

    init(capacity: Int) { self.capacity = capacity }

    mutating func take(_ party: String, limit: Settings.Limit, now: UInt64 = Monotonic.now) -> LimitDecision {
        if windows.count >= capacity, windows[party] == nil { makeRoom(now) }
        var window =
            windows[party].flatMap { $0.end > now ? $0 : nil }
            ?? Window(count: 0, end: now &+ limit.window.nanoseconds)
        window.count += 1
        windows[party] = window
        return LimitDecision(
            verdict: window.count <= limit.requests ? .open : .openRefused,
            remaining: max(0, limit.requests - window.count),
            reset: .nanoseconds(Int64(clamping: window.end - now)))
    }

    private mutating func makeRoom(_ now: UInt64) {
        windows = windows.filter { $0.value.end > now }
        // Still full of open windows: one flood of names must not cost memory without bound, nor lock anyone out.
        if windows.count >= capacity { windows = [:] }
    }
}
