import CloakroomFastCGI
import Glibc
import CloakroomLoop
import CloakroomServer

/// Keeps a number of workers running; php-fpm is the model.
@LoopActor
final class Supervisor {
    private enum Phase {
        case running
        case stopping
    }

    private let line: SupervisorCommandLine
    private let program = ProgramFile()
    /// What this process runs.
    private let own = FileIdentity(ProgramFile.own)
    private let lifeline: SharedLifeline
    private let folder: SupervisorFolder?
    private let launcher: WorkerLauncher
    private let slots: [WorkerSlot]
    private let log: Log
    private let stop = StopRequest()
    private var phase = Phase.running
    /// The slots still to be replaced, the one at work first.
    private var replacing: ArraySlice<WorkerSlot> = []
    /// Or workers that no request reaches any more.
    private var isReload = true
    /// What was requested meanwhile, once however often: done when all are replaced.
    private var reloadsAgain = false
    private var changesProgram = false
    /// Whether the last reload failed: the next program, which may know the settings and get ready with them, does it again.
    private var isReloadDue = false
    /// The new program, started to see whether it could take over.
    private var trial: pid_t?
    private var told: SupervisorStatus?
    /// Where another process's socket is in the place of a worker's.
    private var taken: [String] = []
    private var socketRepair = SocketRepair()
    /// When to look again at the sockets, and whether another program lies at our path.
    private var looksAgainAt: UInt64 = 0

    /// How often the workers are looked at.
    static let tick: Duration = .milliseconds(50)
    /// While a worker starts.
    private static let shortTick: Duration = .milliseconds(5)
    private static let trialTimeout: Duration = .seconds(10)
    nonisolated private static let signals = [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR2, SIGCHLD]

    /// - Parameters:
    ///   - files: what the settings were loaded from, for the workers; see ``SettingsFiles/memory``.
    ///   - state: what the program that ran in this process before hands on; `nil` for a start.
    nonisolated static func run(
        _ line: SupervisorCommandLine, _ settings: Settings, _ files: SharedMemory?, resuming state: SupervisorState?
    ) -> ExitStatus {
        Signals.block(signals)
        signal(SIGPIPE, SIG_IGN)
        // For the workers. With thousands of requests under way the processor spends a third of its time on addresses of
        // small pages. Source: glibc's manual, "Memory Allocation Tunables". An operator's own tunables stay.
        setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0)
        if !settings.server.coreDumps { CoreDumps.refuse() }
        return .onLoop {
            do {
                let log = Log(sink: try? LineSink(path: nil), level: settings.log.level)
                let supervisor = try Supervisor(line, settings, files, log, state)
                return try await supervisor.run(resumed: state != nil)
            } catch {
                return Output.fail("cannot supervise: \(error)")
            }
        }
    }

    private init(
        _ line: SupervisorCommandLine, _ settings: Settings, _ files: SharedMemory?, _ log: Log,
        _ state: SupervisorState?
    ) throws(SystemError) {
        self.line = line
        self.log = log
        lifeline = SharedLifeline(try Self.lifeline(of: state))
        do throws(SupervisorFolder.FolderError) {
            folder = try SupervisorFolder(listen: line.listen, isNew: state == nil)
        } catch {
            folder = nil
            log.error("no folder for the supervisor: each worker shows its own metrics", ["reason": .text("\(error)")])
        }
        let launcher = WorkerLauncher(
            file: program, lifeline: lifeline, settingsFile: line.settingsFile, settings: files, folder: folder)
        self.launcher = launcher
        let timeouts = WorkerSlot.Timeouts(hungAfter: settings.server.hungAfter, drain: settings.server.drain)
        slots = line.listen.addresses.map { WorkerSlot(address: $0, program: launcher, timeouts: timeouts, log: log) }
        for worker in state?.workers ?? [] {
            try slots[worker.slot].adopt(worker, ownsSocket: folder?.isInPlace != false)
        }
    }

    nonisolated private static func lifeline(of state: SupervisorState?) throws(SystemError) -> Lifeline {
        guard let state else { return try Lifeline() }
        return Lifeline(adopting: state.lifeline)
    }

    private func run(resumed: Bool) async throws -> ExitStatus {
        let signals = try Signals(Self.signals) { [unowned self] in take($0) }
        if resumed {
            log.info("the supervisor runs its program anew", ["version": .text(CommandLineTool.version)])
            // Children may have ended between the two programs.
            reap()
        }
        for slot in slots where slot.current == nil { slot.start() }
        if slots.contains(where: { $0.current?.isReloadDue ?? false }) {
            log.info("the last reload failed under the former program; it is done once more")
            replaceAll()
        }
        turn()
        await stop.wait()
        withExtendedLifetime(signals) {}
        folder?.remove()
        log.info("supervisor is done")
        return .success
    }

    // MARK: Events

    private func take(_ signal: Int32) {
        switch signal {
        case SIGCHLD:
            reap()
            turn(schedulesNext: false)
        case SIGHUP: replaceAll()
        case SIGUSR2: tryProgram()
        default: stopAll()
        }
    }

    private func reap() {
        for (child, end) in ChildProcess.reap() {
            if child == trial {
                trial = nil
                tried(end)
            } else {
                slots.forEach { $0.ended(child, end) }
            }
        }
    }

    /// Looks after everything that only time can tell.
    private func turn(schedulesNext: Bool = true) {
        for slot in slots { slot.look() }
        switch phase {
        case .running: goOnReplacing()
        case .stopping:
            if slots.allSatisfy(\.isEmpty) {
                for slot in slots { slot.removeSocket() }
                return stop.request()
            }
        }
        tellStatus()
        guard schedulesNext else { return }
        let delay = slots.contains(where: \.isStarting) ? Self.shortTick : Self.tick
        EventPoller.shared.schedule(after: delay) { [weak self] in self?.turn() }
    }

    // MARK: Stopping and replacing

    private func stopAll() {
        guard case .running = phase else { return }
        log.info("supervisor stops its workers")
        ServiceManager.status("stopping")
        phase = .stopping
        replacing = []
        for slot in slots { slot.stop() }
        turn(schedulesNext: false)
    }

    /// One reload at a time: those that are requested meanwhile are done afterwards, as one.
    private func replaceAll() {
        guard case .running = phase else { return }
        guard replacing.isEmpty else {
            if !reloadsAgain { log.info("the workers are being replaced; they will be once more") }
            reloadsAgain = true
            return
        }
        // Read once: the workers get what was looked at.
        var files = SettingsFiles()
        do {
            _ = try SettingsFile.load(line.settingsFile, from: &files)
        } catch {
            isReloadDue = true
            // The workers would not start with them; those that run know better ones.
            return log.error("settings have faults; the workers stay", ["faults": .text("\(error)")])
        }
        log.info("replacing the workers", ["workers": .integer(slots.count)])
        launcher.beginReload(settings: files.memory)
        isReload = true
        replacing = slots[...]
        replacing.first?.replace()
    }

    /// One after the other: the next when the one before has its new worker.
    private func goOnReplacing() {
        guard let slot = replacing.first else { return }
        switch slot.replacement {
        case .underWay: return
        case .done:
            replacing.removeFirst()
            guard replacing.isEmpty else {
                replacing.first?.replace(isReload: isReload)
                return
            }
            log.info("all workers are replaced")
            if isReload { endReload(isDone: true) }
            tellProgram()
        case .failed:
            // Those before it go on with the new settings.
            if isReload { slots.dropLast(replacing.count).forEach { $0.current?.markFailedReload() } }
            replacing = []
            if isReload { endReload(isDone: false) }
            log.error("a new worker did not come up; the others stay")
        }
        if !isReload { socketRepair.ended(at: Monotonic.now) }
        looksAgainAt = 0
        goOn()
    }

    private func endReload(isDone: Bool) {
        launcher.endReload(isDone: isDone)
        isReloadDue = !isDone
    }

    /// Does what was requested while the workers were replaced.
    private func goOn() {
        if reloadsAgain {
            reloadsAgain = false
            replaceAll()
        }
        // Unless the workers are being replaced once more.
        if replacing.isEmpty, changesProgram {
            changesProgram = false
            tryProgram()
        }
    }

    /// When something changed; a new program is noticed within a second.
    private func tellStatus() {
        let looks = Monotonic.now >= looksAgainAt
        if looks {
            looksAgainAt = Monotonic.now &+ 1_000_000_000
            folder?.restore()
            lookAtSockets()
        }
        let status = SupervisorStatus(
            process: getpid(), program: program.path,
            isOutdated: looks ? program.isReplaced : told?.isOutdated ?? false,
            workers: slots.map { workerStatus(of: $0) })
        guard status != told || looks && folder?.lacksStatus ?? false else { return }
        if status != told { ServiceManager.status(status.summary) }
        told = status
        if let folder { status.write(in: folder) }
    }

    private func workerStatus(of slot: WorkerSlot) -> SupervisorStatus.Worker {
        let worker = slot.published
        let runsOwn = if let worker, let own { worker.runs(own) } else { true }
        return SupervisorStatus.Worker(
            listen: slot.address.description, process: worker?.process, runsAnother: !runsOwn,
            isOfFailedReload: worker?.isOfFailedReload ?? false)
    }

    /// Gives workers whose sockets are gone successors with sockets of their own.
    private func lookAtSockets() {
        guard case .running = phase, replacing.isEmpty else { return }
        let paths = slots.map { (slot: $0, leadsTo: $0.socketPath) }
        let before = taken
        taken = paths.filter { $0.leadsTo == .another }.map(\.slot.address.description)
        if let first = taken.first, taken != before {
            log.error(
                "another process has put its sockets in the place of workers'; is there a second supervisor?",
                ["listen": .text(first), "workers": .integer(taken.count)])
        }
        let lost = paths.filter { $0.leadsTo == .nothing }.map(\.slot)
        guard let first = lost.first, socketRepair.isDue(at: Monotonic.now) else { return }
        log.error(
            "another process has removed the sockets of workers; they are replaced",
            ["listen": .text("\(first.address)"), "workers": .integer(lost.count)])
        isReload = false
        replacing = lost[...]
        first.replace(isReload: isReload)
    }

    // MARK: Another program

    private func tellProgram() {
        guard program.isReplaced else { return }
        log.warning(
            "the workers run a new program, the supervisor itself still the former one; SIGUSR2 changes that",
            ["program": .text(program.path), "process": .integer(Int(getpid()))])
    }

    /// Starts the program that lies at our path now with the state it would be handed, to see whether it could go on with
    /// these workers.
    private func tryProgram() {
        guard case .running = phase, trial == nil else { return }
        guard replacing.isEmpty else {
            changesProgram = true
            return
        }
        do throws(SystemError) {
            let child = try SharedMemory(holding: state(of: known).text).withDescriptor {
                (memory) throws(SystemError) in
                try ChildProcess.spawn(
                    program.path, arguments: line.arguments(resuming: SupervisorCommandLine.trial),
                    descriptors: [memory])
            }
            trial = child
            EventPoller.shared.schedule(after: Self.trialTimeout) { [weak self] in
                if self?.trial == child { kill(child, SIGKILL) }
            }
        } catch {
            stay(because: "\(error)")
        }
    }

    private func tried(_ end: ChildProcess.Termination) {
        guard case .running = phase else { return }
        guard end == .exited(status: 0) else { return stay(because: "serve --resume \(end)") }
        guard replacing.isEmpty else {
            changesProgram = true
            return
        }
        changeProgram()
    }

    private typealias KnownWorker = (slot: Int, role: SupervisorState.Worker.Role, worker: RunningWorker)

    private var known: [KnownWorker] {
        slots.enumerated().flatMap { place, slot in slot.workers.map { (place, $0.role, $0.worker) } }
    }

    private func state(of known: [KnownWorker]) -> SupervisorState {
        let workers = known.map { place, role, worker in
            SupervisorState.Worker(
                slot: place, role: role, process: worker.process, start: worker.start,
                isPublished: worker.isPublished, memory: worker.memory.withDescriptor { $0 })
        }
        return SupervisorState(lifeline: lifeline.lifeline.ends, workers: workers)
    }

    /// The workers go on, and find their supervisor under the same process id.
    private func changeProgram() {
        let known = known
        if isReloadDue { for (_, role, worker) in known where role == .current { worker.markReloadDue() } }
        let state = state(of: known)
        let ends = state.lifeline
        let reason: SystemError
        do throws(SystemError) {
            let memory = try SharedMemory(holding: state.text)
            reason = memory.withDescriptor { memory in
                ChildProcess.replaceProgram(
                    with: program.path, arguments: line.arguments(resuming: String(memory)),
                    keeping: [ends.read, ends.write, memory] + state.workers.map(\.memory))
            }
        } catch {
            reason = error
        }
        withExtendedLifetime(known) {}
        stay(because: "\(reason)")
    }

    private func stay(because reason: String) {
        log.error(
            "the program at the supervisor's path cannot take over; this one goes on",
            ["program": .text(program.path), "reason": .text(reason)])
    }
}
