import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

/// Vending with `vending.roles`.
@Suite(.onLoop)
struct SeveralRolesTests {
    private let settings: Settings
    private let clock = TestClock()

    /// One role by two Regions' STS, and one of another account.
    init() throws {
        settings = try ServiceTests.settings(
            smallest(
                vending: """
                    roles: [
                      {name: "ireland", stsRegion: "eu-west-1"},
                      {name: "other", roleARN: "arn:aws:iam::222222222222:role/session", externalID: "x9", profile: "other"},
                      {name: "former", roleARN: "arn:aws:iam::333333333333:role/session", retired: true},
                    ]
                    """))
    }

    @LoopActor private func vendor(_ transport: ScriptedTransport) throws -> (Vendor, Metrics) {
        let clock = clock
        func keys(_ name: String) -> WorkerCredentials {
            WorkerCredentials(Credentials(accessKeyID: name, secretAccessKey: Secret("secret")))
        }
        let upstreams = Upstreams(
            settings, transport: transport, credentials: keys("OWNKEY"), roleCredentials: ["other": keys("OTHERKEY")],
            runtime: RuntimeDependencies(wallClock: { clock.now }, sleep: { _ in }, randomNumber: { .max }))
        let metrics = try Metrics(MetricNames(settings))
        let vendor = Vendor(
            roles: upstreams.roles, settings: settings.vending, metrics: metrics,
            now: { clock.now }, jitter: { 0 })
        return (vendor, metrics)
    }

    /// A subject of each role: the first that has it.
    private func subject(of role: String, after number: Int = 0) throws -> Subject {
        let roles = settings.vending.roles
        for number in number..<number + 10_000 {
            let user = try #require(UserID("u_\(number)"))
            guard roles.active[roles.index(for: user)].name == role else { continue }
            return Subject(userID: user, deviceID: nil, tier: "free", issuer: "https://a.example")
        }
        throw NoSubject(role: role)
    }

    private struct NoSubject: Error { let role: String }

    @LoopActor private func vend(_ vendor: Vendor, _ subject: Subject) async -> STSError? {
        let grant = Grant(scope: settings.vending.scope, lifetime: .seconds(3600), tier: "free")
        guard case .failure(let error) = await vendor.credentials(for: subject, grant) else { return nil }
        return error
    }

    @Test @LoopActor func `calls the STS of a user's role, with the credentials of its account`() async throws {
        let transport = ScriptedTransport { .assumed(for: $0) }
        let (vendor, metrics) = try vendor(transport)
        for role in ["main", "ireland", "other"] { #expect(await vend(vendor, try subject(of: role)) == nil) }
        let calls = transport.requests.map { request in
            let form = String(decoding: request.body, as: UTF8.self)
            let arn = form.components(separatedBy: "RoleArn=").last?.prefix { $0 != "&" }.removingPercentEncoding ?? ""
            let key = request.fields["authorization"]?.components(separatedBy: "Credential=").last?.prefix { $0 != "," }
            let external = form.contains("ExternalId=x9") ? ", x9" : ""
            return "\(request.url) \(arn) \(key ?? "")\(external)"
        }
        #expect(
            calls == [
                "https://sts.eu-central-1.amazonaws.com/ arn:aws:iam::000000000000:role/session"
                    + " OWNKEY/20270115/eu-central-1/sts/aws4_request",
                "https://sts.eu-west-1.amazonaws.com/ arn:aws:iam::000000000000:role/session"
                    + " OWNKEY/20270115/eu-west-1/sts/aws4_request",
                "https://sts.eu-central-1.amazonaws.com/ arn:aws:iam::222222222222:role/session"
                    + " OTHERKEY/20270115/eu-central-1/sts/aws4_request, x9",
            ])
        let counted = settings.vending.roles.active.map { role in
            metrics.layout.roleCalls[role.name, .success].map { metrics.row[$0] }
        }
        #expect(counted == [1, 1, 1])
    }

    @Test @LoopActor func `a role whose STS fails is paused, and the others vend on`() async throws {
        let transport = ScriptedTransport { request in
            request.url.contains("eu-west-1") ? .error(503, "ServiceUnavailable") : .assumed(for: request)
        }
        let (vendor, metrics) = try vendor(transport)
        var number = 0
        for _ in 0..<RoleBreaker.threshold {
            let subject = try subject(of: "ireland", after: number)
            number = (Int(subject.userID.text.dropFirst(2)) ?? 0) + 1
            #expect(await vend(vendor, subject) != .unavailable(retryAfter: nil, code: "RolePaused"))
        }
        let calls = transport.requests.count
        guard case .unavailable(let retryAfter?, "RolePaused") = await vend(vendor, try subject(of: "ireland")) else {
            Issue.record("STS was called")
            return
        }
        #expect(retryAfter <= RoleBreaker.pause && transport.requests.count == calls)
        for role in ["main", "other"] { #expect(await vend(vendor, try subject(of: role)) == nil) }
        let failures = metrics.layout.roleCalls["ireland", .unavailable].map { metrics.row[$0] }
        #expect(failures == UInt64(RoleBreaker.threshold))
    }

    @Test @LoopActor func `a paused role takes no permit of a user's`() async throws {
        let transport = ScriptedTransport { _ in .error(503, "ServiceUnavailable") }
        let (vendor, _) = try vendor(transport)
        let subject = try subject(of: "main")
        for number in 0..<RoleBreaker.threshold {
            _ = await vend(vendor, try self.subject(of: "main", after: number * 20))
        }
        var permits = 0
        let grant = Grant(scope: settings.vending.scope, lifetime: .seconds(900), tier: "free")
        _ = await vendor.credentials(for: subject, grant) {
            permits += 1
            return true
        }
        #expect(permits == 0)
    }
}
