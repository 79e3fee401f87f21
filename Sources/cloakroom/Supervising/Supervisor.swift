import Glibc
import Loop
import Service

/// Keeps a number of workers running; php-fpm is the model.
@LoopActor
final class Supervisor {
    private enum Phase {
        case running
        case stopping(since: UInt64)
    }

    private let slots: [WorkerSlot]
    private let settingsFile: String
    private let log: Log
    private let drain: Duration
    private let stop = Stop()
    private var phase = Phase.running
    /// The slots still to be replaced, the one at work first.
    private var replacing: ArraySlice<WorkerSlot> = []

    private static let tick: Duration = .milliseconds(50)
    nonisolated private static let signals = [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGCHLD]

    nonisolated static func run(addresses: [String], settings: Settings, settingsFile: String) -> ExitStatus {
        Signals.block(signals)
        signal(SIGPIPE, SIG_IGN)
        let status = LoopActor.run {
            do {
                let log = Log(sink: try? LineSink(path: nil), level: settings.log.level)
                let supervisor = try Supervisor(addresses, settings, settingsFile, log)
                return try await supervisor.run().rawValue
            } catch {
                return Output.fail("cannot supervise: \(error)").rawValue
            }
        }
        return ExitStatus(rawValue: status) ?? .failure
    }

    private init(_ addresses: [String], _ settings: Settings, _ settingsFile: String, _ log: Log) throws(SystemError) {
        self.settingsFile = settingsFile
        self.log = log
        drain = settings.server.drain
        let lifeline = SharedLifeline(try Lifeline())
        let program = WorkerProgram(lifeline: lifeline, settingsFile: settingsFile)
        slots = addresses.map { address in
            WorkerSlot(address: address, program: program, patience: settings.server.hungAfter, log: log)
        }
    }

    private func run() async throws -> ExitStatus {
        let signals = try Signals(Self.signals) { [unowned self] in take($0) }
        for slot in slots { slot.start() }
        turn()
        await stop.wait()
        withExtendedLifetime(signals) {}
        log.info("supervisor is done")
        return .success
    }

    // MARK: Events

    private func take(_ signal: Int32) {
        switch signal {
        case SIGCHLD:
            for (child, end) in ChildProcess.reap() { slots.forEach { $0.ended(child, end) } }
            turn(schedulesNext: false)
        case SIGHUP: replaceAll()
        default: stopAll()
        }
    }

    /// Looks after everything that only time can tell.
    private func turn(schedulesNext: Bool = true) {
        switch phase {
        case .running:
            for slot in slots { slot.look() }
            goOnReplacing()
        case .stopping(let since):
            if slots.allSatisfy(\.isEmpty) {
                for slot in slots { slot.removeSocket() }
                return stop.now()
            }
            if Monotonic.now > since + drain.nanoseconds + 2_000_000_000 { slots.forEach { $0.kill() } }
        }
        if schedulesNext { Reactor.shared.schedule(after: Self.tick) { [weak self] in self?.turn() } }
    }

    // MARK: Stopping and replacing

    private func stopAll() {
        guard case .running = phase else { return }
        log.info("supervisor stops its workers")
        phase = .stopping(since: Monotonic.now)
        replacing = []
        for slot in slots { slot.stop() }
        turn(schedulesNext: false)
    }

    private func replaceAll() {
        guard case .running = phase else { return }
        do {
            _ = try SettingsFile.load(settingsFile)
        } catch {
            // The workers would not start with them; those that run know better ones.
            return log.error("settings have faults; the workers stay", ["faults": .text("\(error)")])
        }
        log.info("replacing the workers", ["workers": .integer(slots.count)])
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
            if replacing.isEmpty { log.info("all workers are replaced") }
            replacing.first?.replace()
        case .failed:
            replacing = []
            log.error("a new worker did not come up; the others stay")
        }
    }
}
