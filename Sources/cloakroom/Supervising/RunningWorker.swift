import Glibc
import Loop

/// One process, and what its heartbeat tells.
@LoopActor
final class RunningWorker {
    let process: pid_t
    private let heartbeat: MappedCounters
    private let start = Monotonic.now
    private var beats: UInt64 = 0
    private var lastBeat = Monotonic.now

    init(process: pid_t, heartbeat: MappedCounters) {
        self.process = process
        self.heartbeat = heartbeat
    }

    /// Whether it has said that it is ready.
    var isUp: Bool { beats > 0 }

    var uptime: Duration { .nanoseconds(Int64(clamping: Monotonic.now &- start)) }

    /// Since the last beat, as far as ``look()`` has seen.
    var silence: Duration { .nanoseconds(Int64(clamping: Monotonic.now &- lastBeat)) }

    func look() {
        let now = heartbeat[0]
        guard now != beats else { return }
        beats = now
        lastBeat = Monotonic.now
    }

    func signal(_ number: Int32) { kill(process, number) }
}
