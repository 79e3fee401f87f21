import CloakroomCrypto
import CloakroomKitTestSupport
import Testing

@testable import CloakroomKit

@Suite struct CurrentTokenTests {
    /// Responds when the gate is open.
    private actor SlowTokens: TokenProvider {
        let gate = Gate()
        private(set) var calls = 0
        private(set) var refused: [String] = []

        func token(ofUser userID: String) async -> String { await token() }

        func token() async -> String {
            calls += 1
            let name = "t\(refused.count + 1)"
            _ = await gate.pass()
            return name
        }

        func tokenRefused(_ token: String) { refused.append(token) }
    }

    private struct Failing: TokenProvider {
        let error: any Error
        func token() async throws -> String { throw error }
        func token(ofUser userID: String) async throws -> String { throw error }
    }

    private struct Given: TokenProvider {
        let text: String
        func token() -> String { text }
        func token(ofUser userID: String) -> String { text }
    }

    private struct LeakyError: Error {
        let password = "hunter2"
    }

    @Test func `concurrent calls share one call to the provider`() async throws {
        let provider = SlowTokens()
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        let callers = (0..<100).map { _ in Task { try await tokens.token() } }
        try await until { await provider.calls > 0 }
        await provider.gate.open()
        for caller in callers { #expect(try await caller.value == Secret("t1")) }
        #expect(await provider.calls <= 2)
    }

    @Test func `a hundred refusals of one token lead to one new token`() async throws {
        let provider = CountingTokens()
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        let first = try await tokens.token()
        let callers = (0..<100).map { _ in Task { try await tokens.successor(of: first).token } }
        for caller in callers { #expect(try await caller.value == Secret("t2")) }
        #expect(try await tokens.successor(of: first).token == Secret("t2"))
        #expect(await provider.refused == ["t1"])
        #expect(await provider.calls == 2)
    }

    @Test func `each refusal of a token that the provider returns unchanged is reported to it`() async throws {
        let provider = CountingTokens(isStubborn: true)
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        let first = try await tokens.token()
        for _ in 1...2 { #expect(try await tokens.successor(of: first).token == first) }
        #expect(await provider.refused == ["t1", "t1"])
    }

    @Test func `a request that began before the refusal does not settle it`() async throws {
        let provider = SlowTokens()
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        let early = Task { try await tokens.token() }
        try await until { await provider.calls > 0 }
        let late = Task { try await tokens.successor(of: Secret("t1")).token }
        try await until { await provider.calls > 1 }
        await provider.gate.open()
        #expect(try await early.value == Secret("t1"))
        #expect(try await late.value == Secret("t2"))
    }

    @Test func `a refusal that comes late does not replace the token of today`() async throws {
        let provider = CountingTokens()
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        for name in ["t1", "t2", "t1", "t2", "t1"] { _ = try await tokens.successor(of: Secret(name)) }
        #expect(try await tokens.successor(of: Secret("t1")) == (Secret("t3"), false))
        #expect(await provider.refused == ["t1", "t2"])
    }

    @Test func `a cancelled task waits no longer, and the others get their token`() async throws {
        let provider = SlowTokens()
        let tokens = CurrentToken(provider, runtime: FakeRuntime().runtime)
        let impatient = Task { try await tokens.token() }
        let patient = Task { try await tokens.token() }
        try await until { await provider.calls > 0 }
        impatient.cancel()
        await #expect(throws: CloakroomError.cancelled) { try await impatient.value }
        await provider.gate.open()
        #expect(try await patient.value == Secret("t1"))
    }

    @Test func `a failure is reported without its text, and the next call retries`() async throws {
        let tokens = CurrentToken(Failing(error: LeakyError()), runtime: FakeRuntime().runtime)
        for _ in 0..<2 {
            await #expect(throws: CloakroomError(.tokenUnavailable, "The token provider threw LeakyError")) {
                try await tokens.token()
            }
        }
        let own = CloakroomError(.unreachable, "The sign-in server cannot be reached")
        let others = CurrentToken(Failing(error: own), runtime: FakeRuntime().runtime)
        await #expect(throws: own) { try await others.token() }
    }

    @Test(arguments: ["", "a b", "a\r\nHost: b", "é", String(repeating: "a", count: 8193)])
    func `what is no token is not sent`(text: String) async throws {
        let tokens = CurrentToken(Given(text: text), runtime: FakeRuntime().runtime)
        await #expect(throws: CloakroomError(.tokenUnavailable, "The token provider gave no usable token")) {
            try await tokens.token()
        }
    }
}
