import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AppleIDWatchTests {
    /// Apple, as a test has it.
    private actor Apple: AppleIDStateSource {
        private var states: [String: AppleIDState]
        private(set) var asked: [String] = []
        private let gate: Gate?
        private let stream: AsyncStream<Void>
        private let notifications: AsyncStream<Void>.Continuation

        init(_ states: [String: AppleIDState], gate: Gate? = nil) {
            self.states = states
            self.gate = gate
            (stream, notifications) = AsyncStream.makeStream()
        }

        /// - Parameter state: `nil` for one that cannot be known.
        func set(_ state: AppleIDState?, of user: String) { states[user] = state }

        func state(ofAppleUser user: String) async throws -> AppleIDState {
            asked.append(user)
            if let gate { _ = await gate.pass() }
            guard let state = states[user] else { throw URLError(.notConnectedToInternet) }
            return state
        }

        func revocations() -> AsyncStream<Void> { stream }

        nonisolated func notify() { notifications.yield() }

        nonisolated func end() { notifications.finish() }
    }

    private let fake = FakeRuntime()
    private let store = MemoryStore()

    /// As a launch makes them.
    private func launched(_ store: MemoryStore? = nil) throws -> SessionTokenProvider {
        let end = fake.time(in: .seconds(3600)).formatted(.iso8601)
        return SessionTokenProvider(
            endpoint: try #require(URL(string: "https://api.example")),
            transport: ScriptedHTTP { _, _ in .json(200, #"{"token":"s","expiresAt":"\#(end)","userId":"u_1"}"#) },
            store: store ?? self.store, runtime: fake.runtime)
    }

    private func tokens(ofAppleUser user: String? = "001.a") async throws -> SessionTokenProvider {
        let tokens = try launched()
        try await tokens.signIn(with: SignInIdentity(token: "identity", appleUser: user))
        return tokens
    }

    private func watch(_ apple: Apple, _ tokens: SessionTokenProvider) -> AppleIDWatch {
        AppleIDWatch(source: apple, tokens: tokens)
    }

    private func state(of tokens: SessionTokenProvider) async -> SessionState? {
        var states = await tokens.states().makeAsyncIterator()
        return await states.next()
    }

    @Test(
        arguments: [
            (.authorized, false), (.transferred, false), (nil, false), (.revoked, true), (.notFound, true),
        ] as [(AppleIDState?, Bool)])
    func `only an Apple ID that is revoked or gone ends the session`(said: AppleIDState?, ends: Bool) async throws {
        let tokens = try await tokens()
        let apple = Apple(said.map { ["001.a": $0] } ?? [:])
        #expect(await watch(apple, tokens).check() == said)
        #expect(await state(of: tokens) == (ends ? .needsSignIn(.revoked) : .signedIn(userID: "u_1")))
        await fake.settle()
        #expect(await (store.record == nil) == ends)
    }

    @Test(
        arguments: [
            (.authorized, false), (.revoked, true), (nil, true),
        ] as [(AppleIDState?, Bool)])
    func `a notification ends the session unless Apple says that it stands`(
        said: AppleIDState?, ends: Bool
    ) async throws {
        let tokens = try await tokens()
        let apple = Apple(["001.a": .authorized])
        let running = Task { [watch = watch(apple, tokens)] in await watch.run() }
        try await until { await apple.asked.count == 1 }
        #expect(await state(of: tokens) == .signedIn(userID: "u_1"))
        await apple.set(said, of: "001.a")
        apple.notify()
        apple.end()
        await running.value
        #expect(await apple.asked == ["001.a", "001.a"])
        #expect(await state(of: tokens) == (ends ? .needsSignIn(.revoked) : .signedIn(userID: "u_1")))
    }

    @Test func `a user who signs in while Apple is asked about the former one stays signed in`() async throws {
        let tokens = try await tokens()
        let gate = Gate()
        let apple = Apple(["001.a": .revoked], gate: gate)
        let checked = Task { [watch = watch(apple, tokens)] in await watch.check() }
        await gate.arrival()
        try await tokens.signIn(with: SignInIdentity(token: "identity", appleUser: "001.b"))
        await gate.open()
        #expect(await checked.value == nil)
        #expect(await state(of: tokens) == .signedIn(userID: "u_1"))
    }

    @Test func `an app that was installed anew knows the Apple ID of the session that the keychain kept`() async throws
    {
        _ = try await tokens()
        fake.pass(.seconds(1800))
        let tokens = try launched()
        // It is continued, and still has the name then.
        _ = try await tokens.token()
        await fake.settle()
        for tokens in [tokens, try launched()] { #expect(await tokens.appleUser() == "001.a") }
        #expect(await watch(Apple(["001.a": .revoked]), tokens).check() == .revoked)
        #expect(await state(of: tokens) == .needsSignIn(.revoked))
        await fake.settle()
        #expect(await store.record == nil)
    }

    @Test func `a session that an earlier version has stored names no Apple ID, and stands`() async throws {
        _ = try await tokens()
        let record = try #require(await store.record)
        var fields = try #require(try JSONSerialization.jsonObject(with: record.bytes) as? [String: Any])
        #expect(fields.removeValue(forKey: "appleUser") as? String == "001.a")
        let earlier = StoredCredentials(bytes: try JSONSerialization.data(withJSONObject: fields))
        let tokens = try launched(MemoryStore(earlier))
        #expect(await tokens.appleUser() == nil)
        #expect(await state(of: tokens) == .signedIn(userID: "u_1"))
    }

    @Test func `Apple is not asked about a user who signed in elsewhere`() async throws {
        let tokens = try await tokens(ofAppleUser: nil)
        let apple = Apple(["001.a": .revoked])
        #expect(await watch(apple, tokens).check() == nil)
        #expect(await apple.asked == [])
    }

    @Test func `watching ends with its task, also while Apple is asked, and ends no session then`() async throws {
        let tokens = try await tokens()
        let gate = Gate()
        let apple = Apple([:], gate: gate)
        let running = Task { [watch = watch(apple, tokens)] in await watch.run() }
        await gate.arrival()
        await gate.letOnePass()
        apple.notify()
        await gate.arrival()
        running.cancel()
        await running.value
        #expect(await apple.asked.count == 2)
        #expect(await state(of: tokens) == .signedIn(userID: "u_1"))
    }
}
