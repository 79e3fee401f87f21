import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// The whole service with a transport of the test's own, and no Redis unless the test gives one.
@LoopActor
final class TestService {
    let service: CloakroomService
    let metrics: Metrics
    let clock: TestClock
    let transport: ScriptedTransport
    let identity: Identity
    let tracer: Tracer?
    private let folder: TemporaryFolder
    private let settings: Settings

    static let open = """
        limits: {vend: {requests: 2, whenRedisIsAway: "open"}, renew: {requests: 2}, upload: {requests: 2},
          uploadBytes: {bytes: 1000}}, uploads: {assumedBytes: 100}
        """

    /// - Parameters:
    ///   - more: added to the smallest settings.
    ///   - file: settings instead of those, with the files they name.
    ///   - audit: a file; `nil` for one of the test's own.
    ///   - separateRedis: in place of connections to the settings' servers.
    ///   - probes: of readiness; `nil` for those of the service.
    ///   - collector: of spans.
    init(
        _ more: String = TestService.open, vending: String = "", file: (text: String, files: [String: String])? = nil,
        audit: String? = nil, redis: any RedisClient = UnreachableRedis(),
        separateRedis: (any RedisClient)? = nil,
        probes: [(name: String, probe: Readiness.Probe)]? = nil, collector: ScriptedTransport? = nil,
        transport script: @escaping ScriptedTransport.Script = { .assumed(for: $0) }
    ) throws {
        folder = try TemporaryFolder()
        settings = try Self.settings(
            parsedSettings(file?.text ?? smallest(more, vending: vending), file?.files ?? [:]),
            audit: audit ?? folder["audit"])
        metrics = try Metrics()
        transport = ScriptedTransport(script)
        let clock = TestClock()
        self.clock = clock
        var dependencies = ServiceDependencies(
            transport: transport,
            credentials: WorkerCredentials(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            issuers: transport, redis: redis,
            log: Log(sink: try LineSink(path: folder["log"]), level: .debug, now: { clock.now }), metrics: metrics,
            worker: "w", process: 1)
        dependencies.runtime = RuntimeDependencies(
            wallClock: { clock.now }, sleep: { _ in }, randomNumber: { .max },
            spawn: { body in LoopActor.spawn { await body() } })
        dependencies.randomBytes = { count in (0..<UInt8(count)).map { $0 } }
        dependencies.collector = collector
        if let separateRedis { dependencies.separateRedis = { separateRedis } }
        dependencies.drawAuditID = { "00000000000000c1" }
        let builder = try ServiceBuilder(
            settings, dependencies, readiness: probes.map { Readiness(localChecks: [], probes: $0) })
        service = builder.service
        identity = builder.identity
        tracer = builder.tracer
    }

    private static func settings(_ given: Settings, audit: String) -> Settings {
        var settings = given
        settings.audit.destination = .file(audit)
        settings.uploads.assetBaseURL = settings.uploads.assetBaseURL ?? "https://photos.example"
        return settings
    }

    var auditLines: String { (try? String(contentsOfFile: folder["audit"], encoding: .utf8)) ?? "" }
    /// Lines are written when the turn of the loop ends.
    func logLines() async throws -> String {
        try await LoopActor.sleep(for: .zero)
        return try String(contentsOfFile: folder["log"], encoding: .utf8)
    }

    func token(_ user: String = "u_1", tier: String? = nil) throws -> String {
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        return TokenSigner(issuer: "https://auth.example", audience: "cloakroom", key: key)
            .token(subject: user, deviceID: nil, tier: tier, now: clock.now, lifetime: .seconds(86_400))
    }

    /// - Parameters:
    ///   - token: sent as bearer.
    ///   - trace: 32 hexadecimal digits.
    ///   - isLocal: whether nginx says that it comes from a local network.
    /// - Returns: status, fields and body as they would stand in a message.
    func ask(
        _ method: String, _ target: String, token: String? = nil, fields: HeaderFields = [:], body: String = "",
        trace: String? = nil, isLocal: Bool = true
    ) async -> String {
        var fields = fields
        if let token { fields.add("Authorization", "Bearer \(token)") }
        var request = Request(method: method, target: target, fields: fields, body: Array(body.utf8))
        request.id = RequestID(0xABCD)
        request.peerAddress = "192.0.2.1"
        request.isFromLocalNetwork = isLocal
        if let trace {
            var text = "00-\(trace)-00f067aa0ba902b7-01"
            request.trace = text.withUTF8 { TraceContext($0.span) }
        }
        let response = await withCheckedContinuation { waiter in
            service.respond(to: request) { waiter.resume(returning: $0) }
        }
        return
            (["\(response.status)"] + response.fields.map { "\($0.name): \($0.value)" }
            + ["", String(decoding: response.body, as: UTF8.self)]).joined(separator: "\n")
    }
}

private func parsedSettings(_ text: String, _ files: [String: String]) throws -> Settings {
    try settings(text, files: files)
}
