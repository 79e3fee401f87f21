import CloakroomAWS
import CloakroomCurl
import Glibc
import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
import CloakroomServer

extension ServiceDependencies {
    /// Those of a worker.
    ///
    /// - Parameters:
    ///   - worker: names the worker's row of counters.
    ///   - sharedFolder: of the supervisor, for the counters of its workers, where the settings name none.
    ///   - start: of the service, in seconds since 1970.
    init(_ settings: Settings, worker: String, sharedFolder: String?, start: Int) throws {
        // A closed standard error must not keep the worker from starting: lines are dropped and counted then.
        let lines = try? LineSink(path: nil)
        let log = Log(sink: lines, level: settings.log.level)
        let (metrics, folder) = try Self.metrics(settings, sharedFolder, of: worker, log)
        if settings.server.metricsFolder == nil { metrics.serviceStart = start }
        lines?.onLoss = { metrics.linesDropped($0) }
        let transport = LoopCurlTransport(options: .upstreams(settings))
        self.init(
            transport: transport, credentials: WorkerCredentials(settings, transport: transport, log: log),
            issuers: LoopCurlTransport(options: .issuers(settings)), redis: try settings.redis.client(log: log),
            log: log, metrics: metrics, metricsFolder: folder, worker: worker, process: Int(getpid()))
        if settings.events?.webhook != nil { webhook = LoopCurlTransport(options: .webhook(settings)) }
        if settings.tracing != nil { collector = LoopCurlTransport(options: .collector(settings)) }
        version = CommandLineTool.version
        roleCredentials = WorkerCredentials.ofRoles(settings, transport: transport, log: log)
    }

    /// A folder that the settings name must be there. That of the supervisor may have been removed meanwhile: no worker
    /// stays away for that.
    static func metrics(
        _ settings: Settings, _ sharedFolder: String?, of worker: String, _ log: Log
    ) throws(SystemError) -> (metrics: Metrics, folder: MetricsFolder?) {
        let names = MetricNames(settings)
        if let path = settings.server.metricsFolder {
            let folder = MetricsFolder(path: path)
            return (try folder.metrics(worker: worker, names), folder)
        }
        guard let sharedFolder else { return (try Metrics(names), nil) }
        let folder = MetricsFolder(path: sharedFolder)
        do throws(SystemError) {
            return (try folder.metrics(worker: worker, names), folder)
        } catch {
            log.error(
                "the supervisor's folder cannot be used: this worker shows its own metrics",
                ["reason": .text("\(error)")])
            return (try Metrics(names), nil)
        }
    }
}

extension Upstreams {
    /// For a command, with the credentials that a worker would have.
    ///
    /// - Parameters:
    ///   - bucket: with its endpoint; `nil` for that of the settings.
    ///   - renewal: `nil` for that of the settings.
    ///   - maximumResponseBytes: `nil` for what responses to a worker need at most.
    init(
        of settings: Settings, bucket: (name: String, endpoint: Endpoint)? = nil, renewal: RenewalSettings? = nil,
        maximumResponseBytes: Int? = nil
    ) {
        let transport = LoopCurlTransport(
            options: .upstreams(settings, maximumResponseBytes: maximumResponseBytes))
        self.init(
            settings, bucket: bucket, renewal: renewal, transport: transport,
            credentials: WorkerCredentials(settings, transport: transport),
            roleCredentials: WorkerCredentials.ofRoles(settings, transport: transport))
    }
}

extension WorkerCredentials {
    /// The keys of the settings, else those of the chain of providers.
    ///
    /// - Parameter log: `nil` for commands that speak for themselves.
    @LoopActor
    init(_ settings: Settings, transport: any Transport, log: Log? = nil) {
        if let keys = settings.aws.keys {
            self.init(keys)
            return
        }
        self.init(settings.aws, lifetime: settings.vending.lifetime, transport: transport, log: log)
    }

    /// By their profiles, those that call STS for roles of `vending.roles`.
    @LoopActor
    static func ofRoles(
        _ settings: Settings, transport: any Transport, log: Log? = nil
    ) -> [String: WorkerCredentials] {
        let roles = settings.vending.roles
        let profiles = Set((roles.active + roles.retired).compactMap(\.profile))
        return Dictionary(
            uniqueKeysWithValues: profiles.map { profile in
                let access = settings.aws.of(profile: profile)
                return (
                    profile,
                    WorkerCredentials(access, lifetime: settings.vending.lifetime, transport: transport, log: log)
                )
            })
    }

    @LoopActor
    private init(_ access: Settings.AWSAccess, lifetime: Duration, transport: any Transport, log: Log?) {
        let report = CredentialReport(log: log ?? Log(sink: nil, level: .error), lifetime: lifetime)
        let chain = AWSCredentials.chain(access, transport: transport, runtime: .onLoop)
        self.init(
            RefreshingCredentials(chain, runtime: .onLoop) { event in
                LoopActor.assumeIsolated { report.take(event) }
            })
    }
}

extension LoopCurlTransport.Options {
    /// To STS, S3 and IAM.
    static func upstreams(_ settings: Settings, maximumResponseBytes: Int? = nil) -> Self {
        var options = Self()
        options.certificateAuthorities = settings.aws.certificateAuthorities
        if let maximumResponseBytes { options.maximumResponseBytes = maximumResponseBytes }
        return options
    }

    /// To the webhook that gets the events.
    static func webhook(_ settings: Settings) -> Self {
        var options = Self()
        options.certificateAuthorities = settings.events?.webhook?.certificateAuthorities
        options.maximumResponseBytes = EventDelivery.maximumResponseBytes
        options.keptConnections = 8
        return options
    }

    /// To the collector of spans.
    static func collector(_ settings: Settings) -> Self {
        var options = Self()
        options.certificateAuthorities = settings.tracing?.certificateAuthorities
        options.maximumResponseBytes = Tracer.maximumResponseBytes
        options.keptConnections = 1
        return options
    }

    /// To the issuers, for their keys.
    static func issuers(_ settings: Settings) -> Self {
        var options = Self()
        options.certificateAuthorities = settings.tokens.certificateAuthorities
        options.maximumResponseBytes = KeyFetcher.maximumBytes
        options.keptConnections = 4
        return options
    }
}
