import CloakroomAWS
import CloakroomCrypto
import CloakroomCurl
import Glibc
import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
import CloakroomServer

/// Builds a worker's service from its settings: the one place that knows every part.
@LoopActor
struct ServiceBuilder {
    enum BuildError: Error, CustomStringConvertible {
        case noAuthorities(String?)
        case auditFile(String, SystemError)

        var description: String {
            switch self {
            case .noAuthorities(let file): "\(file ?? "the system") has no certificates to trust for Redis"
            case .auditFile(let path, let error): "audit.file: \(path): \(error)"
            }
        }
    }

    let service: CloakroomService
    let log: Log
    let redis: RedisConnection
    let redisHealth: RedisHealth
    let identity: Identity
    let s3: S3Client

    /// - Parameters:
    ///   - worker: names the worker's row of counters.
    ///   - sharedFolder: of the supervisor, for the counters of its workers, where the settings name none.
    init(settings: Settings, worker: String, sharedFolder: String?) throws {
        let folder = (settings.server.metricsFolder ?? sharedFolder).map { MetricsFolder(path: $0) }
        let metrics = try folder?.metrics(worker: worker) ?? Metrics()
        // A closed standard error must not keep the worker from starting: lines are dropped and counted then.
        let lines = try? LineSink(path: nil)
        lines?.onLoss = { metrics.linesDropped($0) }
        log = Log(sink: lines, level: settings.log.level)

        var redisOptions = try RedisConnection.Options(settings.redis)
        redisOptions.keepsSpare = true
        let redis = RedisConnection(options: redisOptions)
        redis.onRepeat = { metrics.repeatedRedisRequest() }
        self.redis = redis
        let health = RedisHealth(
            redis: redis, selfTest: RedisSelfTest(settings, name: randomBytes(8).hexadecimal), log: log)
        health.onRefusal = { metrics.redisFailed($0) }
        redisHealth = health
        let redisFailed: @LoopActor (RedisError) -> Void = {
            metrics.redisFailed($0)
            health.failed($0)
        }
        let limiter = RateLimiter(redis: redis, keyPrefix: settings.redis.keyPrefix, limits: settings.limits)
        limiter.onRedisFailure = redisFailed

        var issuersOptions = LoopCurlTransport.Options()
        issuersOptions.certificateAuthorities = settings.tokens.certificateAuthorities
        issuersOptions.maximumResponseBytes = KeyFetcher.maximumBytes
        issuersOptions.keptConnections = 4
        let identity = Identity(
            settings: settings, transport: LoopCurlTransport(options: issuersOptions),
            runtime: RuntimeDependencies(sleep: { try await LoopActor.sleep(for: $0) }), metrics: metrics, log: log)
        self.identity = identity
        let undated = UndatedIssuers(redis: redis, keyPrefix: settings.redis.keyPrefix)
        identity.authenticator.onUndatedToken = { [log] issuer in
            guard undated.note(issuer) else { return }
            // What that means for a revocation, the manual says.
            log.warning("tokens have neither iat nor nbf", ["issuer": .text(issuer)])
        }

        let copyLimiter = CopyConcurrencyLimiter(maximum: settings.renewal.maximumInFlight, metrics: metrics)
        let upstreams = try Upstreams(settings: settings, metrics: metrics, copyLimiter: copyLimiter, log: log)
        let s3 = upstreams.s3
        self.s3 = s3
        let seconds = settings.server.requestDeadline
        service = CloakroomService(
            .init(
                settings: settings,
                authenticator: identity.authenticator, sessions: identity.sessions,
                users: UserRecords(redis: redis, keyPrefix: settings.redis.keyPrefix),
                limiter: limiter,
                vendor: Vendor(
                    sts: upstreams.sts, settings: settings.vending, requestDeadline: seconds, metrics: metrics,
                    shared: Self.sharedCache(settings, redis, redisFailed)),
                renewer: Renewer(
                    settings: settings.renewal, requestDeadline: seconds, metrics: metrics, copyLimiter: copyLimiter,
                    permissions: RenewalPermissions(
                        kmsKey: { key, deadline throws(AWSError) in try await s3.kmsKey(of: key, deadline: deadline) },
                        test: { await s3.testRenewal(under: $0, deadline: $1) }),
                    renew: { await s3.renew(key: $0, deadline: $1) }),
                uploader: Uploader(
                    s3: s3, settings: settings.uploads, bucketURL: upstreams.bucketURL, requestDeadline: seconds),
                audit: AuditLog(
                    try Self.auditDestination(settings, redis, redisFailed), worker: worker, process: Int(getpid())),
                log: log, metrics: metrics, metricsFolder: folder,
                readiness: Readiness(
                    localChecks: Self.localChecks(health, identity),
                    probes: upstreams.probes)))
    }

    private static func localChecks(
        _ redis: RedisHealth, _ identity: Identity
    ) -> [(name: String, fault: @LoopActor () -> String?)] {
        var localChecks: [(name: String, fault: @LoopActor () -> String?)] = [
            ("redis", { redis.fault })
        ]
        if identity.needsKeys { localChecks.append((name: "keys", fault: { identity.fault })) }
        return localChecks
    }

    private static func sharedCache(
        _ settings: Settings, _ redis: RedisConnection, _ failed: @escaping @LoopActor (RedisError) -> Void
    ) -> SharedCredentialCache? {
        let keys = settings.vending.credentialCache.sharedKeys
        guard !keys.isEmpty else { return nil }
        let shared = SharedCredentialCache(
            redis: redis, keyPrefix: settings.redis.keyPrefix, keys: keys,
            requestDeadline: settings.server.requestDeadline)
        shared.onFailure = failed
        return shared
    }

    private static func auditDestination(
        _ settings: Settings, _ redis: RedisConnection, _ failed: @escaping @LoopActor (RedisError) -> Void
    ) throws -> AuditLog.Destination {
        let path: String?
        switch settings.audit.destination {
        case .standardError: path = nil
        case .file(let file): path = file
        case .stream(let name, let maximumLength):
            let stream = AuditStream(redis: redis, key: settings.redis.keyPrefix + name, maximumLength: maximumLength)
            stream.onFailure = failed
            return .stream(stream)
        }
        do {
            return .lines(try LineSink(path: path))
        } catch {
            throw BuildError.auditFile(path ?? "standard error", error)
        }
    }
}

extension RedisConnection.Options {
    init(_ settings: Settings.Redis) throws {
        switch settings.address {
        case .unix(let path): self.init(address: .unix(path: path))
        case .tcp(let host, let port): self.init(address: .internet(host: host, port: port))
        }
        username = settings.username
        password = settings.password?.reveal()
        database = settings.database
        timeout = settings.timeout
        guard settings.usesTLS else { return }
        guard let trust = RedisTLS(certificateAuthorities: settings.certificateAuthorities) else {
            throw ServiceBuilder.BuildError.noAuthorities(settings.certificateAuthorities)
        }
        tls = trust
    }
}
