import FastCGI
import Glibc
import Loop
import Service
import Synchronization

/// One visit: check after check, each bounded in time; whatever happens, what was written is taken away at the end.
@LoopActor
final class DoctorRound {
    struct Options: Sendable {
        let url: String?
        let certificateAuthorities: String?
        /// Of the workers.
        let sockets: [ListenAddress]
        let isReadOnly: Bool
        /// For each check.
        let limit: Duration
    }

    private let world: DoctorWorld
    private let limit: Duration
    private let isShown = isatty(STDERR_FILENO) == 1
    private var running: Task<[Finding], Never>?
    private var isStopped = false

    private init(_ world: DoctorWorld, limit: Duration) {
        self.world = world
        self.limit = limit
    }

    nonisolated static func run(_ settings: Settings, _ checks: [CheckName], _ options: Options) -> DoctorReport {
        let signals = [SIGINT, SIGTERM]
        Signals.block(signals)
        signal(SIGPIPE, SIG_IGN)
        let report = Mutex(DoctorReport())
        _ = LoopActor.run {
            let round = DoctorRound(DoctorWorld(settings, options), limit: options.limit)
            let watch = try? Signals(signals) { _ in round.stop() }
            let findings = await round.findings(checks)
            withExtendedLifetime(watch) {}
            report.withLock { $0 = DoctorReport(findings) }
            return 0
        }
        return report.withLock { $0 }
    }

    private func stop() {
        isStopped = true
        running?.cancel()
    }

    private func findings(_ checks: [CheckName]) async -> [Finding] {
        var findings: [Finding] = []
        for check in checks {
            guard !isStopped else {
                findings.append(check.skipped("interrupted"))
                continue
            }
            show("looking at \(check.rawValue): \(check.about)")
            findings += await bounded(check)
        }
        show("")
        return findings + (await world.tidyUp())
    }

    private func show(_ text: String) { if isShown { Output.overwrite(text) } }

    private func bounded(_ check: CheckName) async -> [Finding] {
        let (world, limit) = (world, limit)
        let task = LoopActor.spawn { await Self.findings(of: check, world) }
        running = task
        return await withCheckedContinuation { continuation in
            let once = Answer(continuation)
            let timer = Reactor.shared.schedule(after: limit) {
                task.cancel()
                once.give([
                    check.error(
                        "took longer than \(limit.components.seconds) s",
                        why: "somebody does not answer",
                        advice: "look at the other findings; --timeout-seconds gives more time")
                ])
            }
            LoopActor.spawn {
                once.give(await task.value)
                Reactor.shared.cancel(timer)
            }
        }
    }

    private static func findings(of check: CheckName, _ world: DoctorWorld) async -> [Finding] {
        switch check {
        case .settings:
            SettingsFindings(world.settings).all + [AuditFile.fault(world.settings)?.finding].compactMap(\.self)
        case .redis: await RedisCheck(world).findings()
        case .keys: await KeysCheck(world).findings()
        case .endpoints: await EndpointsCheck(world).findings()
        case .bucket: await BucketCheck(world).findings()
        case .lifecycle: await LifecycleCheck(world).findings()
        case .touch: await TouchCheck(world).findings()
        case .store: await StoreCheck(world).findings()
        case .worker: await WorkerCheck(world).findings()
        case .role: await RoleCheck(world).findings()
        case .scopes: await ScopesCheck(world).findings()
        case .front: await FrontCheck(world).findings()
        case .sockets: await SocketsCheck(world).findings()
        }
    }

    /// The first one counts.
    private final class Answer {
        private var continuation: CheckedContinuation<[Finding], Never>?

        init(_ continuation: CheckedContinuation<[Finding], Never>) { self.continuation = continuation }

        func give(_ findings: [Finding]) {
            continuation?.resume(returning: findings)
            continuation = nil
        }
    }
}
