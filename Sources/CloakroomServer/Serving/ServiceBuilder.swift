package import CloakroomAWS
import CloakroomCrypto
package import CloakroomLoop
import CloakroomRedis

/// Makes the service out of its settings: the one place that knows every part.
///
/// A worker and the tests of the service call it with dependencies of their own.
@LoopActor
package struct ServiceBuilder {
    package enum BuildError: Error, CustomStringConvertible {
        case auditFile(String, SystemError)

        package var description: String {
            switch self {
            case .auditFile(let path, let error): "audit.file: \(path): \(error)"
            }
        }
    }

    package let service: CloakroomService
    package let identity: Identity
    package let redisHealth: RedisHealth
    package let s3: S3Client
    package let status: StatusBoard
    /// `nil` where nothing is told.
    package let events: EventRecorder?
    /// `nil` without a webhook.
    package let eventDelivery: EventDelivery?
    /// `nil` without a collector of spans.
    package let tracer: Tracer?
    /// `nil` for an audit in Redis.
    package let auditLines: LineSink?

    /// - Parameter readiness: `nil` for that of Redis, the issuers' keys, the credentials, STS and S3.
    package init(
        _ settings: Settings, _ dependencies: ServiceDependencies, readiness: Readiness? = nil
    ) throws(BuildError) {
        let (redis, runtime, metrics, log) =
            (dependencies.redis, dependencies.runtime, dependencies.metrics, dependencies.log)
        let (keyPrefix, deadline) = (settings.redis.keyPrefix, settings.server.requestDeadline)

        redis.onRepeat = { metrics.repeatedRedisRequest() }
        let health = RedisHealth(
            redis: redis, selfTest: RedisSelfTest(settings, name: dependencies.randomBytes(8).hexadecimal), log: log)
        health.onFailure = { metrics.redisFailed($0) }
        redisHealth = health
        let redisFailed: @LoopActor (RedisError) -> Void = {
            metrics.redisFailed($0)
            health.failed($0)
        }
        let limiter = RateLimiter(redis: redis, keyPrefix: keyPrefix)
        limiter.onRedisFailure = redisFailed

        let identity = Identity(
            settings: settings, transport: dependencies.issuers, runtime: runtime, metrics: metrics, log: log)
        self.identity = identity
        let undated = UndatedIssuers(redis: redis, keyPrefix: keyPrefix)
        identity.authenticator.onUndatedToken = { issuer in
            guard undated.note(issuer) else { return }
            // What that means for a revocation, the manual says.
            log.warning("tokens have neither iat nor nbf", ["issuer": .text(issuer)])
        }

        let copyLimiter = CopyConcurrencyLimiter(maximum: settings.renewal.maximumInFlight, metrics: metrics)
        let upstreams = Upstreams(
            settings, transport: dependencies.transport, credentials: dependencies.credentials,
            roleCredentials: dependencies.roleCredentials, runtime: runtime
        ) { attempt in
            metrics.attempted(attempt)
            copyLimiter.observe(attempt)
        }
        s3 = upstreams.s3
        let queue = ObjectQueue(copyLimiter)
        let releaser = settings.uploads.chat.map { [s3] chat in
            Releaser(
                chat, bucket: settings.bucket, noncurrentDays: settings.lifecycle.noncurrentDays,
                requestDeadline: deadline, metrics: metrics, queue: queue, now: runtime.wallClock
            ) { object, deadline in await s3.release(object, chat.mode, deadline: deadline) }
        }

        let vendor = Vendor(
            roles: upstreams.roles, settings: settings.vending, metrics: metrics,
            shared: Self.sharedCache(settings, dependencies, redisFailed), now: runtime.wallClock)
        Self.tellClock(of: vendor, log)
        let readiness =
            readiness ?? Readiness(localChecks: Self.localChecks(health, identity), probes: upstreams.probes)
        status = StatusBoard(
            own: WorkerStatus(
                .init(
                    worker: dependencies.worker, process: dependencies.process, version: dependencies.version,
                    metrics: metrics, redis: redis, servers: settings.redis.servers,
                    redisHealth: health, roles: upstreams.roles,
                    credentials: [(nil, dependencies.credentials)]
                        + dependencies.roleCredentials.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                    vendor: vendor, objects: queue, readiness: readiness, log: log, now: runtime.wallClock)),
            folder: dependencies.metricsFolder?.path, name: dependencies.worker, process: dependencies.process,
            now: runtime.wallClock)

        let stream = settings.events.map { EventStream(redis: redis, settings: $0, keyPrefix: keyPrefix) }
        events = Self.recorder(settings, stream, dependencies, redisFailed)
        eventDelivery = Self.delivery(settings, stream, dependencies, redisFailed)
        tracer = Self.tracer(settings, dependencies)
        let audit = try Self.auditDestination(settings, dependencies, redisFailed)
        if case .lines(let sink) = audit { auditLines = sink } else { auditLines = nil }
        service = CloakroomService(
            .init(
                settings: settings,
                authenticator: identity.authenticator, sessions: identity.sessions,
                accessRemoval: AccessRemoval(
                    UserRecords(redis: redis, keyPrefix: keyPrefix, now: runtime.wallClock),
                    connect: Self.separateRedis(settings, dependencies), timeout: deadline / 4, log: log),
                limiter: limiter,
                vendor: vendor,
                renewer: Renewer(
                    settings.renewal, s3: s3, requestDeadline: deadline, metrics: metrics, queue: queue,
                    now: runtime.wallClock),
                releaser: releaser,
                uploader: Uploader(
                    s3: s3, settings: settings.uploads, bucketURL: settings.aws.s3.url,
                    companionBucket: settings.web.companion ? settings.bucket : nil,
                    releaseTokens: releaser?.tokens, requestDeadline: deadline,
                    now: runtime.wallClock, randomBytes: dependencies.randomBytes),
                audit: AuditLog(
                    audit, worker: dependencies.worker, process: dependencies.process, now: runtime.wallClock,
                    drawID: dependencies.drawAuditID),
                events: events, tracer: tracer, log: log, metrics: metrics, metricsFolder: dependencies.metricsFolder,
                readiness: readiness, status: status, now: runtime.wallClock))
    }

    /// - Returns: `nil` for a single server.
    private static func separateRedis(
        _ settings: Settings, _ dependencies: ServiceDependencies
    ) -> AccessRemoval.Connect? {
        guard settings.redis.servers.hasFailover else { return nil }
        if let separateRedis = dependencies.separateRedis { return separateRedis }
        // Longer than a `WAIT` takes.
        return { try settings.redis.clientForPeople(atLeast: .seconds(2)) }
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

    /// In the doctor's words.
    private static func tellClock(of vendor: Vendor, _ log: Log) {
        vendor.onClockDifference = { seconds in
            guard seconds != 0 else { return log.info("our clock is STS's again") }
            log.warning(
                "our clock is not STS's: let chrony or systemd-timesyncd keep the time",
                ["seconds": .integer(abs(Int(seconds.rounded()))), "clock": .text(seconds > 0 ? "behind" : "ahead")])
        }
        vendor.onUnsteadyClock = {
            log.error("our clock and STS's do not fit from one call to the next; nothing with a window was issued")
        }
    }

    private static func sharedCache(
        _ settings: Settings, _ dependencies: ServiceDependencies, _ failed: @escaping @LoopActor (RedisError) -> Void
    ) -> SharedCredentialCache? {
        let keys = settings.vending.credentialCache.sharedKeys
        guard !keys.isEmpty else { return nil }
        let shared = SharedCredentialCache(
            redis: dependencies.redis, keyPrefix: settings.redis.keyPrefix, keys: keys,
            requestDeadline: settings.server.requestDeadline, now: dependencies.runtime.wallClock)
        shared.onFailure = failed
        return shared
    }

    private static func recorder(
        _ settings: Settings, _ stream: EventStream?, _ dependencies: ServiceDependencies,
        _ failed: @escaping @LoopActor (RedisError) -> Void
    ) -> EventRecorder? {
        guard let events = settings.events, let stream else { return nil }
        let recorder = EventRecorder(
            stream, settings: events, metrics: dependencies.metrics, log: dependencies.log,
            ids: EventIDs(randomNumber: dependencies.runtime.randomNumber), now: dependencies.runtime.wallClock)
        recorder.onFailure = failed
        return recorder
    }

    private static func delivery(
        _ settings: Settings, _ stream: EventStream?, _ dependencies: ServiceDependencies,
        _ failed: @escaping @LoopActor (RedisError) -> Void
    ) -> EventDelivery? {
        guard let webhook = settings.events?.webhook, let stream, let transport = dependencies.webhook else {
            return nil
        }
        let delivery = EventDelivery(
            stream, to: webhook, by: transport, consumer: dependencies.worker, metrics: dependencies.metrics,
            log: dependencies.log, runtime: dependencies.runtime)
        delivery.onFailure = failed
        return delivery
    }

    private static func tracer(_ settings: Settings, _ dependencies: ServiceDependencies) -> Tracer? {
        guard let tracing = settings.tracing, let transport = dependencies.collector else { return nil }
        return Tracer(
            tracing, by: transport,
            of: Tracer.Resource(
                host: HostName.text, worker: dependencies.worker, process: dependencies.process,
                version: dependencies.version),
            metrics: dependencies.metrics, log: dependencies.log, runtime: dependencies.runtime)
    }

    private static func auditDestination(
        _ settings: Settings, _ dependencies: ServiceDependencies, _ failed: @escaping @LoopActor (RedisError) -> Void
    ) throws(BuildError) -> AuditLog.Destination {
        let path: String?
        switch settings.audit.destination {
        case .standardError: path = nil
        case .file(let file): path = file
        case .stream(let name, let maximumLength):
            let stream = AuditStream(
                redis: dependencies.redis, key: settings.redis.keyPrefix + name, maximumLength: maximumLength,
                metrics: dependencies.metrics, log: dependencies.log)
            stream.onFailure = failed
            return .stream(stream)
        }
        do throws(SystemError) {
            return .lines(try LineSink(path: path))
        } catch {
            throw .auditFile(path ?? "standard error", error)
        }
    }
}
