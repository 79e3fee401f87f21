import Loop

/// Shows the supervisor that the loop turns: a counter in shared memory.
@LoopActor
final class Heartbeat {
    private let counter: MappedCounters
    private let interval: Duration

    /// - Parameter within: how long the supervisor waits for a beat.
    init(descriptor: Int32, within patience: Duration) throws(SystemError) {
        counter = try MappedCounters(descriptor: descriptor, count: 1)
        interval = patience / 4
    }

    /// The first beat says that the worker is up; then one at least every interval, busy or idle.
    func start() {
        counter.add(1, at: 0)
        Reactor.shared.schedule(after: interval) { [weak self] in self?.start() }
    }
}
