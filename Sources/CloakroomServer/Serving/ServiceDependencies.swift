package import CloakroomAWS
import CloakroomCrypto
package import CloakroomHTTP
package import CloakroomLoop
package import CloakroomRedis

/// What the service is built from besides its settings: all that reaches out of the process, and its clock.
@LoopActor
package struct ServiceDependencies {
    /// To STS, S3 and IAM.
    package var transport: any Transport
    package var credentials: WorkerCredentials
    /// By their profiles, those of roles in other accounts.
    package var roleCredentials: [String: WorkerCredentials] = [:]
    /// To the issuers, for their keys; one that follows no redirect.
    package var issuers: any Transport
    /// To the webhook; `nil` where there is none.
    package var webhook: (any Transport)?
    /// To the collector of spans; `nil` where there is none.
    package var collector: (any Transport)?
    package var redis: any RedisClient
    /// For what would hold up all else on the way of ``redis``; `nil` for that of the settings.
    package var separateRedis: AccessRemoval.Connect?
    package var runtime: RuntimeDependencies = .onLoop
    package var log: Log
    package var metrics: Metrics
    /// Of the counters of all workers; `nil` where each shows its own.
    package var metricsFolder: MetricsFolder?
    /// How the audit log and the metrics name the worker.
    package var worker: String
    package var process: Int
    /// Of the program.
    package var version = "unknown"
    /// For the names of new objects, and of what the self-test writes to Redis.
    package var randomBytes: @Sendable (Int) -> [UInt8] = CloakroomCrypto.randomBytes
    /// 16 hexadecimal digits for a new chain of audit lines.
    package var drawAuditID: () -> String = { CloakroomCrypto.randomBytes(AuditChain.idLength / 2).hexadecimal }

    package init(
        transport: any Transport, credentials: WorkerCredentials, issuers: any Transport, redis: any RedisClient,
        log: Log, metrics: Metrics, metricsFolder: MetricsFolder? = nil, worker: String, process: Int
    ) {
        self.transport = transport
        self.credentials = credentials
        self.issuers = issuers
        self.redis = redis
        self.log = log
        self.metrics = metrics
        self.metricsFolder = metricsFolder
        self.worker = worker
        self.process = process
    }
}

/// What the worker, or a command in its place, signs its own requests with.
package struct WorkerCredentials: Sendable {
    package let source: CredentialSource
    /// `nil`: keys of the settings, which are always there.
    let refreshing: RefreshingCredentials?

    package init(_ keys: Credentials) {
        source = CredentialSource(keys)
        refreshing = nil
    }

    package init(_ refreshing: RefreshingCredentials) {
        source = CredentialSource(refreshing)
        self.refreshing = refreshing
    }

    /// For commands that would do nothing without them.
    package func require() async throws(CredentialChainError) { _ = try await refreshing?.current() }
}

extension RuntimeDependencies {
    /// Time and tasks of the loop; wall clock and random numbers of the system.
    package static let onLoop = RuntimeDependencies(
        sleep: { try await LoopActor.sleep(for: $0) }, spawn: { body in LoopActor.spawn { await body() } })
}
