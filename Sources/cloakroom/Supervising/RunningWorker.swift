import Glibc
import CloakroomLoop

/// One process, and what its heartbeat tells.
@LoopActor
final class RunningWorker {
    let process: pid_t
    /// Shared with the process; see ``WorkerMemory``.
    let memory: SharedMemory
    /// In ``Monotonic`` nanoseconds.
    let start: UInt64
    /// Whether the path of the socket leads to it.
    var isPublished = false
    private let words: MappedCounters
    private var beats: UInt64 = 0
    /// Its start, before the first one: so one that was started before the supervisor changed its program has no more
    /// time to come up than any other.
    private var lastBeat: UInt64
    private var lastLook: UInt64
    /// When it has to be gone, once it was told to leave; in ``Monotonic`` nanoseconds.
    private(set) var killAt: UInt64?
    private var isKilled = false

    init(process: pid_t, memory: SharedMemory, start: UInt64 = Monotonic.now) throws(SystemError) {
        self.process = process
        self.memory = memory
        self.start = start
        lastBeat = start
        lastLook = Monotonic.now
        words = try memory.withDescriptor { (descriptor) throws(SystemError) in
            try MappedCounters(descriptor: descriptor, count: WorkerMemory.count)
        }
    }

    /// Whether it has said that it serves requests.
    var isUp: Bool { beats > 0 }

    enum Readiness { case unknown, notReady, ready }

    /// What its `/readyz` would say now.
    var readiness: Readiness {
        switch words[WorkerMemory.readiness] {
        case 1: .notReady
        case 2: .ready
        default: .unknown
        }
    }

    /// Whether it runs the file; one of an earlier version does not tell, and so runs another.
    func runs(_ program: FileIdentity) -> Bool {
        words[WorkerMemory.programDevice] == UInt64(program.device)
            && words[WorkerMemory.programNumber] == UInt64(program.number)
    }

    /// Whether the supervisor before this one was to replace it, and could not.
    var isReloadDue: Bool { words[WorkerMemory.reloadDue] != 0 }

    /// Has the next supervisor replace it.
    func markReloadDue() { if !isReloadDue { words.add(1, at: WorkerMemory.reloadDue) } }

    /// Whether it has the settings of a reload that failed at a worker after it.
    var isOfFailedReload: Bool { words[WorkerMemory.reloadDue] >= WorkerMemory.failedReload }

    func markFailedReload() { words.add(WorkerMemory.failedReload, at: WorkerMemory.reloadDue) }

    var uptime: Duration { .nanoseconds(Int64(clamping: Monotonic.now &- start)) }

    /// From the last beat to the last look, without the time in which the supervisor did not run.
    var silence: Duration { .nanoseconds(Int64(clamping: lastLook &- lastBeat)) }

    /// - Parameter now: in ``Monotonic`` nanoseconds.
    func look(now: UInt64 = Monotonic.now) {
        let gap = now &- lastLook
        lastLook = now
        let beatsNow = words[WorkerMemory.beats]
        guard beatsNow == beats else {
            beats = beatsNow
            lastBeat = now
            return
        }
        // After a pause of the whole service the supervisor may run before its workers do. A look counts some of the
        // pause: so one that is hung is found on a machine, too, that lets the supervisor run only now and then.
        lastBeat &+= gap - min(gap, (Supervisor.tick * 2).nanoseconds)
    }

    /// What it told before its first beat, as its own settings say; `fallback` for what it has not told.
    func limits(or fallback: WorkerSlot.Timeouts) -> WorkerSlot.Timeouts {
        func told(_ word: Int) -> Duration? { words[word] == 0 ? nil : .milliseconds(Int64(clamping: words[word])) }
        return WorkerSlot.Timeouts(
            hungAfter: told(WorkerMemory.hungAfter) ?? fallback.hungAfter,
            drain: told(WorkerMemory.drain) ?? fallback.drain)
    }

    /// Tells it to finish what it took, within `limit`. One that is not up has taken nothing: it is killed at once.
    func leave(within limit: Duration) {
        guard isUp else { return kill() }
        Glibc.kill(process, SIGTERM)
        killAt = Monotonic.now &+ limit.nanoseconds
    }

    /// Whether it was told to leave, and has not.
    var isOverdue: Bool { !isKilled && killAt.map { $0 <= Monotonic.now } ?? false }

    /// A process that is stopped (SIGSTOP) ends by this, too.
    func kill() {
        isKilled = true
        Glibc.kill(process, SIGKILL)
    }

    /// Whether ``kill()`` was called: its end is only a matter of time.
    var isEnding: Bool { isKilled }
}
