import CloakroomAWS
import CloakroomCrypto
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
import Foundation

@testable import CloakroomServer

/// One worker, from the bytes of FastCGI to the signed request: the production code on a unix socket of its own.
@LoopActor
final class WorkerProcess {
    let name: String
    let address: ListenAddress
    let audit: String
    private let listener: FastCGIListener
    let builder: ServiceBuilder
    private let redis: any RedisClient

    /// - Parameter name: of this process alone: one that takes another's place has another.
    init(_ name: String, in world: World) throws {
        self.name = name
        audit = "\(world.folder)/audit-\(name)"
        let settings = Self.settings(
            world, audit: Plant.current == .auditComesLate ? Self.delayed(audit) : audit,
            redis: world.redis.settings(for: name))
        let metrics = try Metrics()
        let transport = WorkerUpstreams(of: name, in: world)
        let keys = Credentials(
            accessKeyID: ObjectStore.worker.accessKeyID, secretAccessKey: Secret(ObjectStore.worker.secretAccessKey))
        // A trace shows what it logs of failures, too. Without one the lines are written all the same: each is work at the end
        // of a turn, for which the loop does not wait, and so decides what else runs before.
        let log = Log(sink: try LineSink(path: Trace.isShown ? nil : "/dev/null"), level: .warning)
        let redis = try settings.redis.client(log: log, intervals: Self.intervals(world))
        self.redis = redis
        let dependencies = ServiceDependencies(
            transport: transport, credentials: WorkerCredentials(keys), issuers: transport,
            redis: redis, log: log, metrics: metrics,
            worker: name, process: 1)
        let builder = try ServiceBuilder(settings, dependencies)
        address = .unix(path: "\(world.folder)/\(name).sock")
        listener = try FastCGIListener(
            socket: try address.listen(), limits: .init(bodyBytes: settings.server.maximumBodyBytes),
            fields: FieldTable(CloakroomService.fieldNames(settings)), tooLarge: CloakroomService.tooLarge
        ) { request, respond in builder.service.respond(to: request, respond) }
        self.builder = builder
        // Neither readiness nor Redis' rights are watched: the modelled nginx looks at no readiness, the modelled Redis refuses no
        // command, and their probes every few seconds would be most of a virtual day.
        try address.publish(listener: getpid())
    }

    /// The process ends, whatever it was doing: its connections break, and what waits in it waits for good.
    func kill(in world: World) {
        if case .unix(let path) = address { unlink(path) }
        redis.close()
        world.redis.forget(name)
    }

    /// Ends as SIGTERM ends it: what was accepted gets its response.
    func drain(in world: World) async {
        await builder.s3.cancelBackgroundCopies()
        await listener.drain()
        redis.close()
        world.redis.forget(name)
    }

    /// Every few seconds, as in a worker, these would be most of a virtual day.
    static func intervals(_ world: World) -> Settings.Redis.Intervals {
        var intervals = Settings.Redis.Intervals()
        intervals.keepAlive = .seconds(120)
        // A cluster tells with each request when its map is old.
        intervals.check = .seconds(world.rules.redis == .cluster ? 600 : 200)
        intervals.replicas = .seconds(150)
        return intervals
    }

    /// A file from which the lines come into the audit some seconds later.
    private static func delayed(_ audit: String) -> String {
        let written = "\(audit).written"
        LoopActor.spawn {
            while true {
                try? await LoopActor.sleep(for: .seconds(10))
                try? Data(contentsOf: URL(fileURLWithPath: written)).write(to: URL(fileURLWithPath: audit))
            }
        }
        return written
    }

    private static let roles = #"[{name: "second", roleARN: "arn:aws:iam::\#(ObjectStore.account):role/second"}]"#

    /// - Parameter redis: where it is.
    static func settings(_ world: World, audit: String, redis: String) -> Settings {
        let text = """
            {
              region: "eu-west-1", bucket: "\(ObjectStore.bucket)",
              aws: {stsEndpoint: "\(World.stsURL)", s3Endpoint: "\(World.s3URL)"},
              tokens: {issuers: [{issuer: "\(World.issuer)", audiences: ["cloakroom"], secret: {env: "SIGNING"}}]},
              vending: {prefixes: ["photos", "thumbnails", "metadata", "catalogs"], credentialCache: {enabled: \(world.rules.cachesCredentials),
                shared: {enabled: \(world.rules.sharesCredentials && world.rules.cachesCredentials), keys: [{env: "SEALING"}]}},
                roleARN: "arn:aws:iam::\(ObjectStore.account):role/session",
                roles: \(world.rules.hasTwoRoles ? roles : "null"), lifetimeSeconds: \(world.rules.lifetimeSeconds)},
              uploads: {keyPrefix: "assets/", assetBaseURL: "\(World.assetsURL)", chatKeyPrefix: "chats/",
                chatRetentionDays: \(ObjectStore.chatDays)},
              release: {keys: [{env: "RELEASE"}]},
              renewal: {keyPrefix: "assets/", retentionDays: \(world.rules.retentionDays)},
              limits: {vend: {requests: \(world.rules.vends)}, renew: {requests: 60}},
              redis: {\(redis)}, audit: {file: "\(audit)"}, log: {level: "error"},
            }
            """
        let name = "/settings.json5"
        do throws(SettingsErrors) {
            return try Settings.load(
                file: name,
                environment: [
                    "SIGNING": World.signingSecret, "SEALING": World.sealingSecret, "RELEASE": World.releaseSecret,
                ]
            ) {
                $0 == name ? Array(text.utf8) : nil
            }
        } catch { Finding.end("the worker's settings: \(error)") }
    }
}
