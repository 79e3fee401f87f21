import CloakroomCLinux
import CloakroomFastCGI
import Glibc
import CloakroomLoop
import CloakroomServer

/// The place of one worker: the process that has it, the one that is to take it over, and those that leave it.
///
/// The path of the socket is given by this side alone, to a worker that is up: so it leads to ``current`` whatever
/// becomes of a worker that starts.
@LoopActor
final class WorkerSlot {
    enum Replacement {
        case underWay
        case done
        case failed
    }

    let address: ListenAddress
    private let program: WorkerLauncher
    /// For a worker that tells none of its own.
    private let timeouts: Timeouts
    private let log: Log
    private(set) var current: RunningWorker?
    private var next: RunningWorker?
    private(set) var leaving: [RunningWorker] = []
    private var crashes = RestartBackoff()
    /// When to start the next one after a crash.
    private var startsAt: UInt64?
    private(set) var replacement = Replacement.done
    /// Whether the replacement is for a reload.
    private var isReload = true
    /// Whether the one that is being replaced was ready when it was last looked at, also when it has ended since and another is to
    /// follow it.
    private var wasReady = false
    /// The socket of the worker that was published last; `nil` for ports.
    private var socket: FileIdentity?

    struct Timeouts: Equatable {
        /// How long a worker that is up may give no sign of life.
        let hungAfter: Duration
        /// How long a worker that is told to stop may finish requests.
        let drain: Duration
        /// One that is not ready by then, while another is, never will be.
        var ready: Duration = .seconds(10)
    }

    /// A worker that is not up by then never will be.
    private static let startTimeout: Duration = .seconds(10)
    /// Beyond its own time to drain.
    private static let leaveMargin: Duration = .seconds(2)

    init(address: ListenAddress, program: WorkerLauncher, timeouts: Timeouts, log: Log) {
        self.address = address
        self.program = program
        self.timeouts = timeouts
        self.log = log
    }

    var isEmpty: Bool { current == nil && next == nil && leaving.isEmpty }

    /// Whether a worker is about to come up: then ``look()`` is worth calling often.
    var isStarting: Bool { [current, next].contains { $0.map { !$0.isUp } ?? false } }

    /// The worker that the socket's path leads to.
    var published: RunningWorker? { current.flatMap { $0.isPublished ? $0 : nil } }

    func start() {
        current = spawn(.again)
        if current == nil { startAgain(afterUptime: .zero) }
    }

    /// Starts a second worker on the same address; when it is up, the first is told to stop. A first one that is not up
    /// itself is ended before.
    ///
    /// - Parameter isReload: whether the second is to have what lies on the disk now. Then a first one that is ready keeps its place,
    ///   and the replacement fails, where the second is not ready within ten seconds: with settings that lead to no Redis, say.
    ///   Where the first one ends meanwhile, one that has what it had takes its place.
    func replace(isReload: Bool = true) {
        look()
        self.isReload = isReload
        wasReady = current.map { $0.isUp && $0.readiness == .ready } ?? false
        startsAt = nil
        if let worker = current, !worker.isUp {
            current = nil
            leave(worker)
        }
        next = spawn(isReload ? .anew : .again)
        replacement = next == nil ? .failed : .underWay
        if current == nil, next == nil { startAgain(afterUptime: .zero) }
    }

    func stop() {
        startsAt = nil
        let all = [current, next].compactMap(\.self)
        (current, next) = (nil, nil)
        for worker in all { leave(worker) }
    }

    /// After the last worker has gone: the path would lead nowhere. A socket that another supervisor has put there since
    /// stays.
    func removeSocket() {
        guard case .unix(let path) = address, let socket, FileIdentity(path) == socket else { return }
        unlink(path)
    }

    enum SocketPath {
        case worker
        /// A process that is not of this supervisor.
        case another
        case nothing
    }

    /// What the path of the socket leads to, as far as it can be told. Another process can remove it, or put its own there
    /// and end: then no client reaches a worker that is up.
    var socketPath: SocketPath {
        guard case .unix(let path) = address, let socket, published != nil, FileIdentity(path) != socket else {
            return .worker
        }
        var code: Int32 = 0
        let connection = cloakroom_connect_unix(path, &code)
        if connection >= 0 { close(connection) }
        return switch code {
        case ENOENT, ECONNREFUSED: .nothing
        // EAGAIN: its queue is full.
        case 0, EINPROGRESS, EAGAIN: .another
        default: .worker
        }
    }

    // MARK: Watching

    func ended(_ process: pid_t, _ end: ChildProcess.Termination) {
        if let place = leaving.firstIndex(where: { $0.process == process }) {
            forget(leaving.remove(at: place))
        } else if let worker = next, worker.process == process {
            report(end, process)
            forget(worker)
            next = nil
            replacement = .failed
            if current == nil { startAgain(afterUptime: worker.uptime) }
        } else if let worker = current, worker.process == process {
            report(end, process)
            forget(worker)
            current = nil
            // One that is to replace it is on its way already, and may be long in coming where this one was ready.
            if next == nil || isReload && wasReady { startAgain(afterUptime: worker.uptime) }
        }
    }

    func look() {
        if current == nil, let due = startsAt, due <= Monotonic.now {
            startsAt = nil
            start()
        }
        [current, next].compactMap(\.self).forEach(watch)
        for worker in leaving where worker.isOverdue {
            log.error(
                "worker does not stop; it is ended",
                ["listen": .text("\(address)"), "process": .integer(Int(worker.process))])
            worker.kill()
        }
        if let worker = current, worker.isUp {
            publish(worker)
            // One that has just come up may be ready in a moment.
            let isReady = worker.readiness == .ready
            if isReady || worker.uptime > timeouts.ready { wasReady = isReady }
        }
        if let worker = next, worker.isUp, mayTakeOver(worker), publish(worker) {
            if isReload { program.hasReloaded(address.description) }
            if let old = current { leave(old) }
            current = worker
            next = nil
            startsAt = nil
            replacement = .done
        }
    }

    private func mayTakeOver(_ worker: RunningWorker) -> Bool {
        guard isReload, worker.readiness == .notReady, wasReady else { return true }
        if !worker.isEnding, worker.uptime > timeouts.ready {
            log.error(
                "the new worker is not ready, and the former one was; the new one is ended",
                ["listen": .text("\(address)"), "process": .integer(Int(worker.process))])
            worker.kill()
        }
        return false
    }

    private func watch(_ worker: RunningWorker) {
        worker.look()
        let limit = worker.isUp ? worker.limits(or: timeouts).hungAfter : Self.startTimeout
        guard !worker.isEnding, worker.silence > limit else { return }
        log.error(
            "worker does not answer; it is ended",
            [
                "listen": .text("\(address)"), "process": .integer(Int(worker.process)),
                "silent": .milliseconds(worker.silence),
            ])
        worker.kill()
    }

    private func startAgain(afterUptime uptime: Duration) {
        startsAt = Monotonic.now &+ crashes.pause(afterUptime: uptime).nanoseconds
    }

    private func spawn(_ start: WorkerLauncher.Start) -> RunningWorker? {
        do throws(SystemError) {
            return try program.start(start, on: address.description)
        } catch {
            log.error("worker cannot be started", ["listen": .text("\(address)"), "reason": .text("\(error)")])
            return nil
        }
    }

    /// Makes the socket's path lead to this worker, once.
    ///
    /// - Returns: whether it does. If it cannot, the worker is ended, and that end is told as any other.
    @discardableResult
    private func publish(_ worker: RunningWorker) -> Bool {
        guard !worker.isPublished, !worker.isEnding else { return worker.isPublished }
        // Renamed, it stays the same file.
        let bound = address.temporaryPath(of: worker.process).flatMap { FileIdentity($0) }
        do throws(SystemError) {
            try address.publish(listener: worker.process)
            worker.isPublished = true
            socket = bound ?? socketAtPath
        } catch {
            log.error(
                "the worker's socket cannot be put in its place; the worker is ended",
                [
                    "listen": .text("\(address)"), "process": .integer(Int(worker.process)),
                    "reason": .text("\(error)"),
                ])
            worker.kill()
        }
        return worker.isPublished
    }

    private var socketAtPath: FileIdentity? {
        if case .unix(let path) = address { FileIdentity(path) } else { nil }
    }

    private func leave(_ worker: RunningWorker) {
        worker.leave(within: worker.limits(or: timeouts).drain + Self.leaveMargin)
        leaving.append(worker)
    }

    /// One that ended before it was published leaves its temporary socket.
    private func forget(_ worker: RunningWorker) {
        if !worker.isPublished, let path = address.temporaryPath(of: worker.process) { unlink(path) }
    }

    private func report(_ end: ChildProcess.Termination, _ process: pid_t) {
        log.error(
            "worker ended", ["listen": .text("\(address)"), "process": .integer(Int(process)), "how": .text("\(end)")])
    }

    // MARK: Another program in place of this one

    /// The workers as the next program is to know them; none is being replaced then.
    var workers: [(role: SupervisorState.Worker.Role, worker: RunningWorker)] {
        (current.map { [(.current, $0)] } ?? []) + leaving.map { (.leaving, $0) }
    }

    /// Takes over a child of the program that ran here before.
    /// - Parameter ownsSocket: whether the socket at the address is the worker's, and not another supervisor's.
    func adopt(_ state: SupervisorState.Worker, ownsSocket: Bool) throws(SystemError) {
        let worker = try RunningWorker(
            process: state.process, memory: SharedMemory(adopting: state.memory), start: state.start)
        worker.isPublished = state.isPublished
        if state.isPublished, ownsSocket { socket = socketAtPath }
        worker.look()
        switch state.role {
        case .current: current = worker
        case .leaving: leave(worker)
        }
    }
}
