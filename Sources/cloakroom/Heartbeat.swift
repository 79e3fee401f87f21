import CloakroomLoop

/// Shows the supervisor that the loop turns, and tells it how long to wait for that, and which program this is: in shared
/// memory.
@LoopActor
final class Heartbeat {
    private let counter: MappedCounters
    private let interval: Duration
    private let made = ContinuousClock.now
    private var wasReady: Bool?
    /// What the supervisor does for this worker.
    let capabilities: WorkerMemory.Capabilities
    /// See ``WorkerMemory/start``; `nil` under a supervisor that does not tell.
    let serviceStart: Int?

    /// - Parameters:
    ///   - limit: how long the supervisor is to wait for a beat.
    ///   - drain: how long it is to wait when the worker stops.
    init(descriptor: Int32, within limit: Duration, drain: Duration) throws(SystemError) {
        counter = try MappedCounters(descriptor: descriptor, count: WorkerMemory.count)
        interval = limit / 4
        counter.add(UInt64(limit.milliseconds), at: WorkerMemory.hungAfter)
        counter.add(UInt64(drain.milliseconds), at: WorkerMemory.drain)
        capabilities = WorkerMemory.Capabilities(rawValue: counter[WorkerMemory.capabilities])
        let start = counter[WorkerMemory.start]
        serviceStart = start == 0 ? nil : Int(clamping: start)
        if let program = FileIdentity(ProgramFile.own) {
            counter.add(UInt64(program.device), at: WorkerMemory.programDevice)
            counter.add(UInt64(program.number), at: WorkerMemory.programNumber)
        }
    }

    /// How often the supervisor is told whether the worker is ready, in its first seconds: it may wait for that.
    private static let startInterval: Duration = .milliseconds(20)
    private static let startTime: Duration = .seconds(10)

    /// The first beat says that the worker is up; then one at least every interval, busy or idle.
    ///
    /// - Parameter isReady: what `/readyz` would say.
    func start(isReady: @escaping @LoopActor () -> Bool) {
        let ready = isReady()
        if ready != wasReady {
            let (now, before): (UInt64, UInt64) = (ready ? 2 : 1, wasReady.map { $0 ? 2 : 1 } ?? 0)
            counter.add(now &- before, at: WorkerMemory.readiness)
            wasReady = ready
        }
        counter.add(1, at: WorkerMemory.beats)
        let isStarting = !ready && ContinuousClock.now - made < Self.startTime
        EventPoller.shared.schedule(after: isStarting ? min(Self.startInterval, interval) : interval) { [weak self] in
            self?.start(isReady: isReady)
        }
    }
}
