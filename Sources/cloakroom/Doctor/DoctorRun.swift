import CloakroomFastCGI
import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import Synchronization

/// One run: check after check, each bounded in time; whatever happens, what was written is deleted at the end.
@LoopActor
final class DoctorRun {
    struct DoctorOptions: Sendable {
        let url: String?
        let certificateAuthorities: String?
        /// Of the workers.
        let sockets: [ListenAddress]
        /// As nginx has them; `nil` where that is not to be compared.
        var upstream: NginxUpstream?
        let isReadOnly: Bool
        /// For each check.
        let limit: Duration
    }

    private let dependencies: DoctorDependencies
    private let limit: Duration
    private let progress = ProgressLine()
    private var running: Task<[Finding], Never>?
    private var isStopped = false

    private init(_ dependencies: DoctorDependencies, limit: Duration) {
        self.dependencies = dependencies
        self.limit = limit
    }

    nonisolated static func run(_ settings: Settings, _ checks: [CheckName], _ options: DoctorOptions) -> DoctorReport {
        let signals = [SIGINT, SIGTERM]
        Signals.block(signals)
        signal(SIGPIPE, SIG_IGN)
        let report = Mutex(DoctorReport())
        _ = LoopActor.run {
            let round = DoctorRun(DoctorDependencies(settings, options), limit: options.limit)
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
            progress.show("looking at \(check.rawValue): \(check.about)")
            findings += await bounded(check)
        }
        progress.clear()
        return findings + (await dependencies.tidyUp())
    }

    private func bounded(_ check: CheckName) async -> [Finding] {
        let (dependencies, limit) = (dependencies, limit)
        let task = LoopActor.spawn { await Self.findings(of: check, dependencies) }
        running = task
        return await withCheckedContinuation { continuation in
            let once = FirstResult(continuation)
            let timer = EventPoller.shared.schedule(after: limit) {
                task.cancel()
                once.give([
                    check.error(
                        "took longer than \(limit.components.seconds) s",
                        why: "a service does not respond",
                        advice: "look at the other findings; --timeout-seconds gives more time")
                ])
            }
            LoopActor.spawn {
                once.give(await task.value)
                EventPoller.shared.cancel(timer)
            }
        }
    }

    private static func findings(of check: CheckName, _ dependencies: DoctorDependencies) async -> [Finding] {
        switch check {
        case .settings:
            SettingsFindings(dependencies.settings).all + SettingsFindings(dependencies.settings).notes
                + [AuditFile.fault(dependencies.settings)?.finding].compactMap(\.self)
        case .redis: await RedisCheck(dependencies).findings()
        case .keys: await KeysCheck(dependencies).findings()
        case .endpoints: await EndpointsCheck(dependencies).findings()
        case .bucket: await BucketCheck(dependencies).findings()
        case .lifecycle: await LifecycleCheck(dependencies).findings()
        case .renewal: await RenewalCheck(dependencies).findings()
        case .store: await StoreCheck(dependencies).findings()
        case .worker: await WorkerCheck(dependencies).findings()
        case .role: await RoleCheck(dependencies).findings()
        case .scopes: await ScopesCheck(dependencies).findings()
        case .nginx: await NginxCheck(dependencies).findings()
        case .browsers: await BrowserCheck(dependencies).findings()
        case .sockets: await SocketsCheck(dependencies).findings()
        }
    }

    /// The first one counts.
    private final class FirstResult {
        private var continuation: CheckedContinuation<[Finding], Never>?

        init(_ continuation: CheckedContinuation<[Finding], Never>) { self.continuation = continuation }

        func give(_ findings: [Finding]) {
            continuation?.resume(returning: findings)
            continuation = nil
        }
    }
}
