import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct SessionTokenProviderTests {
    private let fake = FakeRuntime()
    private let store = MemoryStore()

    private func provider(
        _ http: ScriptedHTTP, store: (any CredentialStore)? = nil, identity: SessionTokenProvider.IdentitySource? = nil
    ) throws -> SessionTokenProvider {
        SessionTokenProvider(
            endpoint: try #require(URL(string: "https://api.example")), transport: http, store: store ?? self.store,
            retryPolicy: RetryPolicy(maximumAttempts: 1), runtime: fake.runtime, identity: identity)
    }

    /// A session that ends an hour after it was requested, by this clock.
    private func session(_ token: String, of user: String = "u_1") -> ScriptedHTTP.Step {
        let end = fake.time(in: .seconds(3600)).formatted(.iso8601)
        return .json(200, #"{"token":"\#(token)","expiresAt":"\#(end)","userId":"\#(user)"}"#)
    }

    private static let revoked = ScriptedHTTP.Step.json(
        401, #"{"error":"Session revoked","code":"session_revoked"}"#)
    private static let refused = ScriptedHTTP.Step.json(401, #"{"error":"Invalid","code":"unauthorized"}"#)
    private static let identity = SignInIdentity(token: "identity", nonce: "n")

    @Test func `a thousand callers send one session request`() async throws {
        let gate = Gate()
        let http = ScriptedHTTP { [self] _, number in
            number == 0 ? session("s1") : .held(gate, session("s\(number + 1)"))
        }
        let provider = try provider(http)
        #expect(try await provider.signIn(with: Self.identity) == "u_1")
        fake.pass(.seconds(3400))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await provider.token() } }
            await http.arrival(of: 2)
            await gate.open()
            for try await token in group { #expect(token == "s2") }
        }
        #expect(await http.sent.count == 2)
        #expect(await http.sent[1]["Authorization"] == "Bearer s1")
    }

    @Test func `a thousand callers after a session's end ask for one identity`() async throws {
        let http = ScriptedHTTP { [self] _, number in session("s\(number + 1)") }
        let asked = Log<SignInReason>()
        let provider = try provider(http) { reason in
            asked.append(reason)
            return Self.identity
        }
        try await provider.signIn(with: Self.identity)
        fake.pass(.seconds(3600))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await provider.token() } }
            for try await token in group { #expect(token == "s2") }
        }
        #expect(asked.all == [.ended])
        #expect(await http.sent.count == 2)
    }

    @Test func `a session is continued from half of its lifetime on, and survives a restart`() async throws {
        let http = ScriptedHTTP { [self] _, number in session("s\(number + 1)") }
        let first = try provider(http)
        try await first.signIn(with: Self.identity)
        #expect(try await first.token() == "s1")
        fake.pass(.seconds(1800))
        #expect(try await first.token() == "s1")
        await fake.settle()
        let restarted = try provider(http)
        #expect(try await restarted.token() == "s2")
        #expect(await http.sent.count == 2)
        var states = await restarted.states().makeAsyncIterator()
        #expect(await states.next() == .signedIn(userID: "u_1"))
    }

    @Test func `without a network the session is used until it ends`() async throws {
        let http = ScriptedHTTP { [self] _, number in number == 0 ? session("s1") : .failure(.unreachable) }
        let provider = try provider(http) { _ in nil }
        try await provider.signIn(with: Self.identity)
        for seconds in [1800, 1600, 199] {
            fake.pass(.seconds(seconds))
            #expect(try await provider.token() == "s1")
            await fake.settle()
        }
        fake.pass(.seconds(1))
        await #expect(throws: CloakroomError.self) { try await provider.token() }
        var states = await provider.states().makeAsyncIterator()
        #expect(await states.next() == .needsSignIn(.ended))
    }

    @Test func `the server's clock decides when a session ends`() async throws {
        let http = ScriptedHTTP { _, number in
            .json(
                200, #"{"token":"s\#(number + 1)","expiresAt":"2026-11-21T00:00:00Z","userId":"u_1"}"#,
                [("Date", "Fri, 20 Nov 2026 23:00:00 GMT")])
        }
        let provider = try provider(http) { _ in nil }
        try await provider.signIn(with: Self.identity)
        fake.setWallClock(ahead: .seconds(-86_400))
        fake.pass(.seconds(3599))
        _ = try await provider.token()
        #expect(await http.sent.count == 2)
    }

    @Test func `a revocation forgets the session at once, in the store too, and asks nobody`() async throws {
        let http = ScriptedHTTP { [self] _, number in number == 0 ? session("s1") : Self.revoked }
        let provider = try provider(http) { _ in Self.identity }
        try await provider.signIn(with: Self.identity)
        var states = await provider.states().makeAsyncIterator()
        #expect(await states.next() == .signedIn(userID: "u_1"))
        await fake.settle()
        #expect(await store.record != nil)
        await provider.sessionRevoked("another")
        #expect(try await provider.token() == "s1")
        fake.pass(.seconds(3400))
        for _ in 0..<2 {
            let error = await #expect(throws: CloakroomError.self) { try await provider.token() }
            #expect(error?.code == .sessionRevoked)
        }
        #expect(await states.next() == .needsSignIn(.revoked))
        await fake.settle()
        #expect(await store.record == nil)
        #expect(await http.sent.count == 2)
    }

    @Test func `after signing out nothing is sent, and a late session is not kept`() async throws {
        let gate = Gate()
        let http = ScriptedHTTP { [self] _, number in
            number == 0 ? session("s1") : .held(gate, session("s2"))
        }
        let provider = try provider(http) { _ in Self.identity }
        try await provider.signIn(with: Self.identity)
        fake.pass(.seconds(3400))
        let waiting = Task { try await provider.token() }
        await http.arrival(of: 2)
        try await provider.signOut()
        await #expect(throws: CloakroomError.cancelled) { try await waiting.value }
        await gate.open()
        await fake.settle()
        #expect(await store.record == nil)
        await #expect(throws: CloakroomError(.unauthorized, "Not signed in")) { try await provider.token() }
        #expect(await http.sent.count == 2)
    }

    @Test func `a store that keeps the session fails the sign-out, which can be repeated`() async throws {
        let http = ScriptedHTTP { [self] _, _ in session("s1") }
        let provider = try provider(http)
        try await provider.signIn(with: Self.identity)
        await store.failClears(1)
        await #expect(throws: CloakroomError.self) { try await provider.signOut() }
        #expect(await store.record != nil)
        await #expect(throws: CloakroomError(.unauthorized, "Not signed in")) { try await provider.token() }
        try await provider.signOut()
        #expect(await store.record == nil)
    }

    @Test func `an identity that comes after signing out is not sent`() async throws {
        let (asked, gate) = (Gate(), Gate())
        let http = ScriptedHTTP { [self] _, _ in session("s1") }
        let provider = try provider(http) { _ in
            await asked.open()
            _ = await gate.pass()
            return Self.identity
        }
        try await provider.signIn(with: Self.identity)
        fake.pass(.seconds(2))
        await provider.tokenRefused("s1")
        let waiting = Task { try await provider.token() }
        _ = await asked.pass()
        try await provider.signOut()
        await gate.open()
        await #expect(throws: CloakroomError.cancelled) { try await waiting.value }
        await fake.settle()
        #expect(await http.sent.count == 1)
    }

    @Test func `another user does not get the first one's session`() async throws {
        let gate = Gate()
        let http = ScriptedHTTP { [self] _, number in
            switch number {
            case 0: session("a1")
            case 1: .held(gate, session("a2"))
            default: session("b1", of: "u_2")
            }
        }
        let provider = try provider(http)
        try await provider.signIn(with: Self.identity)
        fake.pass(.seconds(1800))
        #expect(try await provider.token() == "a1")
        await http.arrival(of: 2)
        #expect(try await provider.signIn(with: Self.identity) == "u_2")
        await gate.open()
        await fake.settle()
        #expect(try await provider.token() == "b1")
        let restarted = try self.provider(http)
        #expect(try await restarted.token() == "b1")
    }

    @Test func `an ended session is not replaced by another user's`() async throws {
        let http = ScriptedHTTP { [self] _, number in session("s\(number)", of: "u_\(number)") }
        let provider = try provider(http) { _ in Self.identity }
        try await provider.signIn(with: Self.identity)
        fake.pass(.seconds(2))
        await provider.tokenRefused("s0")
        await #expect(throws: CloakroomError.self) { try await provider.token() }
        var states = await provider.states().makeAsyncIterator()
        #expect(await states.next() == .needsSignIn(.otherUser))
        await fake.settle()
        #expect(await store.record == nil)
    }

    @Test func `a user has signed in once the store has the session`() async throws {
        let gate = Gate()
        let store = MemoryStore(gate: gate)
        let provider = try provider(ScriptedHTTP { [self] _, _ in session("s1") }, store: store)
        let signingIn = Task {
            _ = try await provider.signIn(with: Self.identity)
            return await store.record != nil
        }
        await gate.arrival()
        await gate.letOnePass()
        // The one that saves.
        await gate.arrival()
        await gate.open()
        #expect(try await signingIn.value)
    }

    @Test func `a store that cannot be read is no sign-out`() async throws {
        let http = ScriptedHTTP { [self] _, _ in session("s1") }
        let locked = MemoryStore(error: CloakroomError(.storeFailed, "locked"))
        let provider = try provider(http, store: locked)
        for _ in 0..<2 {
            await #expect(throws: CloakroomError(.storeFailed, "locked")) { try await provider.token() }
        }
        #expect(await locked.calls == ["load", "load"])
    }

    @Test func `a sealed file keeps it, and its user has no user's name`() async throws {
        let folder = try TemporaryFolder()
        let url = try #require(URL(string: "https://api.example"))
        let http = ScriptedHTTP { [self] _, _ in session("s1") }
        let file = SealedFileCredentialStore(folder: folder.url.appendingPathComponent("s"), owner: .session(at: url))
        try await provider(http, store: file).signIn(with: Self.identity)
        await fake.settle()
        #expect(try await provider(http, store: file).token() == "s1")
        #expect(!VendedCredentials.isUserID(StoreOwner.session(at: url).user))
    }
}
