import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import CloakroomHTTP
import Synchronization
import Testing

/// When credentials are got anew, and what happens while they cannot be.
struct RefreshingCredentialsTests {
    /// A source whose answers are written down, and that may be made to wait.
    private final class Source: AWSCredentialProvider {
        private struct State {
            var calls = 0
            var lifetime: Duration? = .seconds(3600)
            var fails = false
            var waiting: [CheckedContinuation<Void, Never>] = []
            var isHeld = false
            var tasks: [Task<Void, Never>] = []
            var events: [String] = []
        }

        let name = ProviderName.container
        let time = FakeRuntime()
        private let state = Mutex(State())

        func expectedOrigin() -> String { "a test" }

        func credentials() async throws(CredentialProviderError) -> ProvidedCredentials {
            let isHeld = state.withLock { state in
                state.calls += 1
                return state.isHeld
            }
            if isHeld {
                await withCheckedContinuation { continuation in
                    let goes = state.withLock { state in
                        if state.isHeld { state.waiting.append(continuation) }
                        return !state.isHeld
                    }
                    if goes { continuation.resume() }
                }
            }
            let (number, lifetime, fails) = state.withLock { ($0.calls, $0.lifetime, $0.fails) }
            if fails { throw .failed("away") }
            return SettingsProvider(
                Credentials(
                    accessKeyID: "K\(number)", secretAccessKey: Secret("shh"), sessionToken: Secret("tok"),
                    expiration: lifetime.map {
                        time.runtime.wallClock().addingTimeInterval(Double($0.components.seconds))
                    })
            ).credentials()
        }

        var calls: Int { state.withLock { $0.calls } }
        var events: [String] { state.withLock { $0.events } }
        func lives(_ lifetime: Duration?) { state.withLock { $0.lifetime = lifetime } }
        func fails(_ fails: Bool) { state.withLock { $0.fails = fails } }
        func hold() { state.withLock { $0.isHeld = true } }

        func release() {
            let waiting = state.withLock { state in
                state.isHeld = false
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }

        /// Until every refresh that was started is done.
        func settle() async { for task in state.withLock({ $0.tasks }) { await task.value } }

        var credentials: RefreshingCredentials {
            var runtime = time.runtime
            runtime.spawn = { body in
                let task = Task { await body() }
                self.state.withLock { $0.tasks.append(task) }
                return task
            }
            return RefreshingCredentials(CredentialChain(providers: [self]), runtime: runtime) { event in
                let text =
                    switch event {
                    case .obtained(let name, let provided): "\(name.rawValue) \(provided.credentials.accessKeyID)"
                    case .failed(let fault): fault.summary
                    }
                self.state.withLock { $0.events.append(text) }
            }
        }
    }

    private func id(_ credentials: RefreshingCredentials) async -> String {
        do throws(CredentialChainError) {
            return try await credentials.current().accessKeyID
        } catch {
            return error.summary
        }
    }

    // With the dice of the test fake, the advisory window begins 12 minutes before the end.
    @Test func `in the last quarter of an hour somebody else refreshes, in the last ten minutes all wait`() async {
        let source = Source()
        let credentials = source.credentials
        #expect(await id(credentials) == "K1")
        source.time.pass(.seconds(3600 - 12 * 60 - 1))
        #expect(await id(credentials) == "K1")
        #expect(source.calls == 1)

        source.time.pass(.seconds(1))
        source.hold()
        #expect(await id(credentials) == "K1")
        #expect(await id(credentials) == "K1")
        source.release()
        await source.settle()
        #expect(source.calls == 2)
        #expect(await id(credentials) == "K2")

        source.time.pass(.seconds(3600 - 10 * 60))
        #expect(await id(credentials) == "K3")
        #expect(source.calls == 3)
        #expect(source.events == ["container K1", "container K2", "container K3"])
    }

    @Test func `the windows begin at other times for other workers`() async {
        let source = Source()
        var runtime = source.time.runtime
        // Not 0, which Swift's generator would ask again for ever.
        runtime.randomNumber = { 1 }
        let credentials = RefreshingCredentials(CredentialChain(providers: [source]), runtime: runtime)
        #expect(await id(credentials) == "K1")
        source.time.pass(.seconds(3600 - 15 * 60))
        _ = await id(credentials)
        source.time.pass(.seconds(5 * 60))
        #expect(await id(credentials) == "K2")
    }

    @Test func `a hundred that ask at once cause one call`() async {
        let source = Source()
        let credentials = source.credentials
        source.hold()
        let ids = await withTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { await self.id(credentials) } }
            try? await until { source.calls > 0 }
            source.release()
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids == ["K1"])
        #expect(source.calls == 1)
    }

    @Test func `while the source is away, the last ones are used until they end, and it is not hammered`() async {
        let source = Source()
        let credentials = source.credentials
        #expect(await id(credentials) == "K1")
        source.fails(true)
        source.time.pass(.seconds(3600 - 9 * 60))
        for _ in 0..<10 { #expect(await id(credentials) == "K1") }
        #expect(source.calls == 2)
        source.time.pass(.seconds(31))
        #expect(await id(credentials) == "K1")
        #expect(source.calls == 3)
        source.time.pass(.seconds(9 * 60))
        for _ in 0..<10 { #expect(await id(credentials) == "container: away") }
        #expect(source.calls == 4)
        source.fails(false)
        source.time.pass(.seconds(3))
        #expect(await id(credentials) == "K5")
    }

    /// FAULTS row 11: such as at the start of a machine, before its clock is set.
    @Test func `a clock that was far ahead when the source failed does not put off the next try`() async {
        let source = Source()
        let credentials = source.credentials
        source.fails(true)
        source.time.pass(.seconds(1_000_000))
        #expect(await id(credentials) == "container: away")
        source.fails(false)
        source.time.pass(.seconds(-1_000_000))
        #expect(await id(credentials) == "K2")
    }

    @Test func `short-lived ones are not refreshed at every request`() async {
        let source = Source()
        source.lives(.seconds(600))
        let credentials = source.credentials
        for _ in 0..<10 { #expect(await id(credentials) == "K1") }
        source.time.pass(.seconds(299))
        #expect(await id(credentials) == "K1")
        await source.settle()
        #expect(source.calls == 1)
        source.time.pass(.seconds(151))
        #expect(await id(credentials) == "K2")
    }

    @Test func `those that do not end are asked for once, and again when AWS refuses them`() async throws {
        let source = Source()
        source.lives(nil)
        let credentials = source.credentials
        #expect(await id(credentials) == "K1")
        source.time.pass(.seconds(1_000_000))
        let first = try await credentials.current()
        await credentials.refused(first)
        #expect(await id(credentials) == "K2")
        // Told again of the old ones: they are gone already.
        await credentials.refused(first)
        #expect(source.calls == 2)
        let second = try await credentials.current()
        // Too soon after the last.
        await credentials.refused(second)
        #expect(source.calls == 2)
    }

    @Test func `a client that is told its token has expired gets others and tries again`() async throws {
        let source = Source()
        let transport = ScriptedTransport([
            .success(.stsError(403, "ExpiredToken")), Documents.role("ROLE", expiration: "2026-11-20T15:00:00Z"),
        ])
        let credentials = source.credentials
        let client = STSClient(
            endpoint: try .sts(region: "eu-central-1"), transport: transport,
            credentials: CredentialSource(credentials), runtime: source.time.runtime)
        _ = try await credentials.current()
        source.time.pass(.seconds(60))
        let request = AssumeRole(roleARN: "arn:aws:iam::1:role/r", sessionName: "u_1", duration: .seconds(7200))
        let role = try await client.assumeRole(request, deadline: source.time.deadline())
        #expect(role.credentials.accessKeyID == "ROLE")
        #expect(source.calls == 2)
        let signed = transport.requests.map { $0.fields["authorization"] ?? "" }
        #expect(signed.count == 2 && signed[0].contains("Credential=K1/") && signed[1].contains("Credential=K2/"))
        // Their token makes this a chain of roles: an hour at most.
        #expect(String(decoding: transport.requests[1].body, as: UTF8.self).contains("DurationSeconds=3600"))
    }

    @Test func `the instance's are used beyond their end while its service is in trouble`() async throws {
        let stale = Documents.json(200, Documents.instance("STALE", expiration: "2026-11-20T13:00:00Z"))
        let machine = Machine(
            [:],
            [
                Documents.json(200, "t"), Documents.json(200, "r"), stale, .failure(.timeout), Documents.json(200, "t"),
                Documents.json(200, "r"),
                Documents.json(200, Documents.instance("FRESH", expiration: "2026-11-20T20:00:00Z")),
            ])
        let credentials = RefreshingCredentials(machine.chain(), runtime: machine.time.runtime)
        #expect(await id(credentials) == "STALE")
        machine.time.pass(.seconds(599))
        #expect(await id(credentials) == "STALE")
        #expect(machine.transport.requests.count == 3)
        machine.time.pass(.seconds(1))
        #expect(await id(credentials) == "STALE")
        #expect(machine.transport.requests.count == 4)
        machine.time.pass(.seconds(30))
        #expect(await id(credentials) == "FRESH")
    }

    @Test func `who gave credentials once is asked from then on`() async {
        let machine = Machine(
            ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x", "HOME": "/h"],
            [
                Documents.json(200, Documents.container("C1", expiration: "2026-11-20T14:20:00Z")),
                Documents.json(200, Documents.container("C2")),
            ])
        let credentials = RefreshingCredentials(machine.chain(), runtime: machine.time.runtime)
        #expect(await id(credentials) == "C1")
        machine.write("/h/.aws/credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = shh\n")
        machine.time.pass(.seconds(1199))
        #expect(await id(credentials) == "C2")
    }

    @Test func `sessions of a chain last an hour at most`() {
        let keys = Credentials(accessKeyID: "A", secretAccessKey: Secret("s"))
        let session = Credentials(accessKeyID: "A", secretAccessKey: Secret("s"), sessionToken: Secret("t"))
        #expect(CredentialSource(keys).maximumSessionDuration == nil)
        #expect(CredentialSource(session).maximumSessionDuration == .seconds(3600))
        #expect(CredentialSource(Source().credentials).maximumSessionDuration == nil)
    }
}
