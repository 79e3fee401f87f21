import CloakroomLoop

/// Shows the supervisor that the loop turns, and tells it how long to wait for that: in shared memory.
@LoopActor
final class Heartbeat {
    private let counter: MappedCounters
    private let interval: Duration
    /// What the supervisor does for this worker.
    let capabilities: WorkerMemory.Capabilities

    /// - Parameters:
    ///   - limit: how long the supervisor is to wait for a beat.
    ///   - drain: how long it is to wait when the worker stops.
    init(descriptor: Int32, within limit: Duration, drain: Duration) throws(SystemError) {
        counter = try MappedCounters(descriptor: descriptor, count: WorkerMemory.count)
        interval = limit / 4
        counter.add(UInt64(limit.milliseconds), at: WorkerMemory.hungAfter)
        counter.add(UInt64(drain.milliseconds), at: WorkerMemory.drain)
        capabilities = WorkerMemory.Capabilities(rawValue: counter[WorkerMemory.capabilities])
    }

    /// The first beat says that the worker is up; then one at least every interval, busy or idle.
    func start() {
        counter.add(1, at: WorkerMemory.beats)
        EventPoller.shared.schedule(after: interval) { [weak self] in self?.start() }
    }
}
