import Glibc
import Loop
import Service

/// The place of one worker: the process that has it, the one that is to take it over, and those that leave it.
@LoopActor
final class WorkerSlot {
    enum Replacement {
        case underWay
        case done
        case failed
    }

    private let address: String
    private let program: WorkerProgram
    private let patience: Duration
    private let log: Log
    private var current: RunningWorker?
    private var next: RunningWorker?
    private var leaving: [RunningWorker] = []
    private var crashes = CrashHistory()
    /// When to start the next one after a crash.
    private var startsAt: UInt64?
    private(set) var replacement = Replacement.done

    /// A worker that is not up by then never will be.
    private static let startPatience: Duration = .seconds(10)

    init(address: String, program: WorkerProgram, patience: Duration, log: Log) {
        self.address = address
        self.program = program
        self.patience = patience
        self.log = log
    }

    var isEmpty: Bool { current == nil && next == nil && leaving.isEmpty }

    func start() { current = spawn() }

    /// Starts a second worker on the same address; when it is up, the first is told to stop.
    func replace() {
        replacement = .underWay
        next = spawn()
        if next == nil { replacement = .failed }
    }

    func stop() {
        startsAt = nil
        let all = [current, next].compactMap(\.self)
        (current, next) = (nil, nil)
        for worker in all { leave(worker) }
    }

    func kill() { leaving.forEach { $0.signal(SIGKILL) } }

    /// After the last worker has gone: the path would lead nowhere.
    func removeSocket() {
        if address.hasPrefix("unix:") { unlink(String(address.dropFirst(5))) }
    }

    // MARK: Watching

    func ended(_ process: pid_t, _ end: ChildProcess.End) {
        if leaving.contains(where: { $0.process == process }) {
            leaving.removeAll { $0.process == process }
        } else if next?.process == process {
            report(end, process)
            next = nil
            replacement = .failed
        } else if let worker = current, worker.process == process {
            report(end, process)
            current = nil
            let pause = crashes.pause(afterUptime: worker.uptime)
            startsAt = Monotonic.now &+ pause.nanoseconds
        }
    }

    func look() {
        if current == nil, let due = startsAt, due <= Monotonic.now {
            startsAt = nil
            start()
            if current == nil { startsAt = Monotonic.now &+ crashes.pause(afterUptime: .zero).nanoseconds }
        }
        [current, next].compactMap(\.self).forEach(look)
        if let worker = next, worker.isUp {
            if let old = current { leave(old) }
            current = worker
            next = nil
            replacement = .done
        }
    }

    private func look(_ worker: RunningWorker) {
        worker.look()
        guard worker.silence > (worker.isUp ? patience : Self.startPatience) else { return }
        log.error(
            "worker does not answer; it is ended",
            [
                "listen": .text(address), "process": .integer(Int(worker.process)),
                "silent": .milliseconds(worker.silence),
            ])
        worker.signal(SIGKILL)
    }

    private func spawn() -> RunningWorker? {
        do {
            let (process, heartbeat) = try program.start(on: address)
            return RunningWorker(process: process, heartbeat: heartbeat)
        } catch {
            log.error("worker cannot be started", ["listen": .text(address), "reason": .text("\(error)")])
            return nil
        }
    }

    private func leave(_ worker: RunningWorker) {
        worker.signal(SIGTERM)
        leaving.append(worker)
    }

    private func report(_ end: ChildProcess.End, _ process: pid_t) {
        log.error(
            "worker ended", ["listen": .text(address), "process": .integer(Int(process)), "how": .text("\(end)")])
    }
}
