import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// What a worker's readiness says of STS, S3 and its own credentials.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct UpstreamsTests {
    private static let keys = WorkerCredentials(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret")))

    private static let more =
        "uploads: {keyPrefix: 'assets/'}, renewal: {keyPrefix: 'assets/'}, aws: {maximumAttempts: 1}"

    @LoopActor private func upstreams(
        _ transport: ScriptedTransport, as credentials: WorkerCredentials = Self.keys
    ) throws -> Upstreams {
        Upstreams(
            try settings(smallest(Self.more)), transport: transport,
            credentials: credentials,
            runtime: RuntimeDependencies(
                sleep: { _ in }, spawn: { body in LoopActor.spawn { await body() } }))
    }

    /// By their names, in their order; `ok` for none.
    @LoopActor private func faults(_ upstreams: Upstreams) async -> [String] {
        var faults: [String] = []
        for (name, probe) in upstreams.probes { faults.append("\(name): \(await probe() ?? "ok")") }
        return faults
    }

    @Test @LoopActor func `STS need only respond, S3 has to say that an object of no name is not there`() async throws {
        let transport = ScriptedTransport { $0.url.contains("sts") ? .text(403, "") : .error(404, "NoSuchKey") }
        let found = try await faults(upstreams(transport))
        #expect(found == ["sts: ok", "s3: ok"])
        #expect(
            transport.requests.map { "\($0.method) \($0.url)" } == [
                "GET https://sts.eu-central-1.amazonaws.com/",
                "GET https://photos.s3.eu-central-1.amazonaws.com/assets/cloakroom-readiness-probe",
            ])
    }

    @Test(arguments: [
        (403, "AccessDenied", "S3 answers 403: is s3:ListBucket missing?"), (404, "NoSuchBucket", "NoSuchBucket 404"),
        (503, "SlowDown", "SlowDown 503"),
    ])
    @LoopActor func `says what S3 refuses`(status: Int, code: String, fault: String) async throws {
        let transport = ScriptedTransport { $0.url.contains("sts") ? .text(200, "") : .error(status, code) }
        let found = try await faults(upstreams(transport))
        #expect(found == ["sts: ok", "s3: \(fault)"])
    }

    @Test @LoopActor func `says that an endpoint is unreachable`() async throws {
        let transport = ScriptedTransport { request throws(TransportError) in
            guard request.url.contains("sts") else { return .error(404, "NoSuchKey") }
            throw .unreachable
        }
        let found = try await faults(upstreams(transport))
        #expect(found == ["sts: unreachable", "s3: ok"])
    }

    private struct FailingProvider: AWSCredentialProvider {
        let name = ProviderName.instance

        func expectedOrigin() throws(CredentialProviderError) -> String { throw .failed("no role") }

        func credentials() async throws(CredentialProviderError) -> ProvidedCredentials { throw .failed("no role") }
    }

    @Test @LoopActor func `credentials of a chain come first, with the reason when there are none`() async throws {
        let chain = CredentialChain(providers: [FailingProvider()])
        let none = WorkerCredentials(RefreshingCredentials(chain, runtime: .onLoop))
        let transport = ScriptedTransport { _ in .text(200, "") }
        let found = try await faults(upstreams(transport, as: none))
        #expect(found.first == "credentials: instance: no role")
        #expect(found.map { $0.prefix { $0 != ":" } } == ["credentials", "sts", "s3"])
        await #expect(throws: CredentialChainError.self) { try await none.require() }
    }

    @Test @LoopActor func `the service is ready by Redis, the keys of the issuers, STS and S3`() async throws {
        let ready = try await TestService().ask("GET", "/readyz")
        #expect(
            ready.hasSuffix(#"{"ready":false,"redis":"no connection","sts":"not asked yet","s3":"not asked yet"}"#))
    }

    @Test @LoopActor func `a user's session is requested as it was granted`() throws {
        let given = try settings(smallest(vending: "externalID: 'x1'"))
        let user = try #require(UserID("u_1"))
        let grant = Grant(scope: given.vending.scope, lifetime: .seconds(900), tier: "pro")
        let request = AssumeRole(grant, for: user, given.vending.roles.main, at: TestClock().now)
        #expect(request.roleARN == "arn:aws:iam::000000000000:role/session" && request.externalID == "x1")
        #expect(request.sessionName == SessionName.make(userID: "u_1", at: TestClock().now))
        #expect(request.duration == .seconds(900) && request.policy == given.vending.scope.policy.asked(for: user))
        #expect(
            request.tags == [.init(key: "UserId", value: "u_1"), .init(key: "SubscriptionTier", value: "pro")])
    }
}
