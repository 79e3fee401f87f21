import CloakroomLoad
import CloakroomLoop

/// A time that goes on when a test says so, and in which nothing takes any.
@LoopActor
final class VirtualClock: LoadClock {
    private(set) var now: UInt64 = 1_000_000_000
    private var waking: Event?
    /// In order; those before ``next`` have happened.
    private var events: [Event] = []
    private var next = 0
    /// How much later than asked for the run is woken.
    var lateness: @LoopActor (UInt64) -> UInt64 = { _ in 0 }

    private struct Event {
        let instant: UInt64
        let body: @LoopActor () -> Void
    }

    func wake(at instant: UInt64, _ body: @escaping @LoopActor () -> Void) {
        waking = Event(instant: max(now, instant + lateness(instant)), body: body)
    }

    /// Behind all that happen at the same time.
    func at(_ instant: UInt64, _ body: @escaping @LoopActor () -> Void) {
        let event = Event(instant: max(instant, now), body: body)
        var (low, high) = (next, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].instant > event.instant { high = middle } else { low = middle + 1 }
        }
        events.insert(event, at: low)
    }

    /// Lets time pass until nothing is left to happen.
    func runOut() {
        while let event = nextEvent() {
            now = event.instant
            event.body()
        }
    }

    private func nextEvent() -> Event? {
        guard let waking, next == events.count || waking.instant < events[next].instant else {
            guard next < events.count else { return nil }
            next += 1
            return events[next - 1]
        }
        self.waking = nil
        return waking
    }
}

/// A server whose latencies are known: they depend on when a request comes, and on its number.
@LoopActor
final class VirtualServer: LoadTarget {
    let connections: Int?
    private let clock: VirtualClock
    private let start: UInt64
    /// Nanoseconds since the start, and the request's number; in nanoseconds again.
    private let latency: (UInt64, Int) -> UInt64
    private let outcome: (Int) -> LoadOutcome
    private(set) var requests: [Int] = []
    /// When each of the connections has had the responses to all its requests.
    private var freeAt: [UInt64]

    init(
        _ clock: VirtualClock, connections: Int? = nil,
        outcome: @escaping (Int) -> LoadOutcome = { _ in .response(status: 200) },
        latency: @escaping (UInt64, Int) -> UInt64
    ) {
        self.clock = clock
        self.connections = connections
        freeAt = [UInt64](repeating: 0, count: connections ?? 0)
        self.latency = latency
        self.outcome = outcome
        start = clock.now
    }

    func send(_ request: Int, then completion: @escaping @LoopActor (LoadOutcome) -> Void) {
        requests.append(request)
        let outcome = outcome(request)
        var begin = clock.now
        let next = freeAt.indices.min { freeAt[$0] < freeAt[$1] }
        if let next { begin = max(begin, freeAt[next]) }
        let end = begin + latency(begin - start, request)
        if let next { freeAt[next] = end }
        clock.at(end) { completion(outcome) }
    }
}

/// A server that handles one request after the other, each in the same time: where they wait is all the same to it.
@LoopActor
final class VirtualQueue: LoadTarget {
    let connections: Int?
    private let clock: VirtualClock
    private let serviceNanoseconds: UInt64
    private var freeAt: UInt64 = 0

    init(_ clock: VirtualClock, requestsPerSecond: Double, connections: Int? = nil) {
        self.clock = clock
        self.connections = connections
        serviceNanoseconds = UInt64(1e9 / requestsPerSecond)
    }

    func send(_ request: Int, then completion: @escaping @LoopActor (LoadOutcome) -> Void) {
        freeAt = max(freeAt, clock.now) + serviceNanoseconds
        clock.at(freeAt) { completion(.response(status: 200)) }
    }
}

extension UInt64 {
    static func milliseconds(_ count: Double) -> UInt64 { UInt64(count * 1e6) }
}
