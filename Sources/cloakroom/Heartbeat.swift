import CloakroomLoop

/// Shows the supervisor that the loop turns: a counter in shared memory.
@LoopActor
final class Heartbeat {
    private let counter: MappedCounters
    private let interval: Duration
    /// What the supervisor does for this worker.
    let capabilities: WorkerMemory.Capabilities

    /// - Parameter limit: how long the supervisor waits for a beat.
    init(descriptor: Int32, within limit: Duration) throws(SystemError) {
        counter = try MappedCounters(descriptor: descriptor, count: WorkerMemory.count)
        interval = limit / 4
        capabilities = WorkerMemory.Capabilities(rawValue: counter[WorkerMemory.capabilities])
    }

    /// The first beat says that the worker is up; then one at least every interval, busy or idle.
    func start() {
        counter.add(1, at: WorkerMemory.beats)
        EventPoller.shared.schedule(after: interval) { [weak self] in self?.start() }
    }
}
