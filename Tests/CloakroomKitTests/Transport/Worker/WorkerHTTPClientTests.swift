import CloakroomAWS
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct WorkerHTTPClientTests {
    private let fake = FakeRuntime()

    private func outcome(
        of http: ScriptedHTTP, retryPolicy: RetryPolicy = RetryPolicy(), tokens: any TokenProvider = CountingTokens()
    ) async throws -> CloakroomError? {
        let client = try CloakroomClient.test(http, fake, tokens: tokens, retryPolicy: retryPolicy)
        do {
            _ = try await client.vendCredentials()
            return nil
        } catch let error as CloakroomError {
            return error
        }
    }

    private static let vended = ScriptedHTTP.Step.json(
        200,
        #"{"credentials":{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"t","#
            + #""expiration":"2026-11-20T15:00:00Z"},"region":"r","bucket":"b"}"#)

    @Test(arguments: [
        ScriptedHTTP.Step.response(500), .response(502), .response(503), .response(504), .response(429), .response(408),
        .failure(.unreachable), .failure(.timedOut), .failure(.interrupted),
    ])
    func `what may pass is tried again`(fault: ScriptedHTTP.Step) async throws {
        let http = ScriptedHTTP(fault, fault, fault, Self.vended)
        #expect(try await outcome(of: http) == nil)
        #expect(fake.sleeps == [.milliseconds(250), .milliseconds(500), .seconds(1)])
    }

    @Test func `a revoked session is reported to the provider once, and no other token is requested`() async throws {
        let tokens = CountingTokens(isStubborn: true)
        let http = ScriptedHTTP { _, _ in .json(401, #"{"error":"Session revoked","code":"session_revoked"}"#) }
        let client = try CloakroomClient.test(http, fake, tokens: tokens)
        for _ in 0..<2 {
            await #expect(
                throws: CloakroomError(
                    .sessionRevoked, "Session revoked", status: 401, serverCode: "session_revoked")
            ) { try await client.vendCredentials() }
        }
        await fake.settle()
        #expect(await tokens.calls == 2)
        #expect(await tokens.revoked == ["t1"])
        #expect(await tokens.refused.isEmpty)
        #expect(await http.sent.count == 2)
        #expect(fake.sleeps.isEmpty)
    }

    @Test func `a session that is revoked for a client and for its user's is reported once`() async throws {
        let tokens = CountingTokens(isStubborn: true)
        let http = ScriptedHTTP { _, _ in .json(401, #"{"error":"Session revoked","code":"session_revoked"}"#) }
        let client = try CloakroomClient.test(http, fake, tokens: tokens)
        for client in [client, client.ofUser("u_1")] {
            await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
        }
        await fake.settle()
        #expect(await tokens.revoked == ["t1"])
    }

    @Test func `jitter is full`() async throws {
        fake.roll(1 << 62)
        #expect(try await outcome(of: ScriptedHTTP(.response(503), .response(503), Self.vended)) == nil)
        #expect(fake.sleeps == [.microseconds(62_500), .milliseconds(125)])
    }

    @Test func `ends after the last attempt, with its error`() async throws {
        let http = ScriptedHTTP { _, number in .json(503, #"{"error":"Temporarily \#(number)","code":"unavailable"}"#) }
        #expect(
            try await outcome(of: http)
                == CloakroomError(.unavailable, "Temporarily 3", status: 503, serverCode: "unavailable"))
        #expect(await http.sent.count == 4)
    }

    @Test(arguments: [
        ScriptedHTTP.Step.response(400), .response(403), .response(404), .response(413), .response(501), .response(302),
        .failure(.untrusted), .failure(.tooLarge), .failure(.invalidRequest), .failure(.notAllowedNow),
    ])
    func `what another try does not better is not tried again`(fault: ScriptedHTTP.Step) async throws {
        let http = ScriptedHTTP(fault)
        #expect(try await outcome(of: http) != nil)
        #expect(fake.sleeps == [])
    }

    /// The server's fields, one a line, and the seconds they ask for.
    private static let wishes: [(String, Int)] = [
        ("Retry-After: 7", 7), ("retry-after:  7 ", 7), ("Retry-After: Fri, 20 Nov 2026 14:00:09 GMT", 9),
        ("Retry-After: Fri, 20 Nov 2026 13:00:09 GMT", 0),
        ("Retry-After: Fri, 20 Nov 2026 15:00:09 GMT\nDate: Fri, 20 Nov 2026 15:00:00 GMT", 9),
        (#"RateLimit: "renew";r=0;t=11"#, 11),
        (#"RateLimit: "renew";r=0;t=11, "renewKeys";r=0;t=12, "other";r=1;t=13"#, 12),
        (#"RateLimit: "re,n;r=5";t=11;r=0"#, 11), ("RateLimit: \"a\";r=0;t=3\nratelimit: \"b\";r=0;t=4", 4),
        ("Retry-After: 5\nRateLimit: \"renew\";r=0;t=11", 5), ("RateLimit: renew;r=0;t=11", 0),
        (#"RateLimit: "renew";r=0;t=-4"#, 0), (#"RateLimit: "renew";r=3;t=11"#, 0), ("Retry-After: soon", 0),
    ]

    @Test(arguments: wishes)
    func `waits as long as the server asks, and a little more`(wish: String, seconds: Int) async throws {
        let fields = wish.split(separator: "\n").map { line in
            let parts = line.split(separator: ": ", maxSplits: 1)
            return (name: String(parts[0]), value: String(parts[1]))
        }
        #expect(try await outcome(of: ScriptedHTTP(.response(429, fields), Self.vended)) == nil)
        #expect(fake.sleeps == [.seconds(seconds) + .milliseconds(250)])
    }

    @Test func `fails at once when Retry-After is beyond the deadline`() async throws {
        let http = ScriptedHTTP(
            .json(
                429, #"{"error":"Too many credential requests","code":"too_many_requests"}"#,
                [("Retry-After", "1800"), ("X-Request-Id", "3f")]))
        #expect(
            try await outcome(of: http)
                == CloakroomError(
                    .tooManyRequests, "Too many credential requests", status: 429, serverCode: "too_many_requests",
                    retryAfter: .seconds(1800), requestID: "3f"))
        #expect(fake.sleeps == [])
    }

    @Test func `one deadline holds for all attempts`() async throws {
        let fake = fake
        let http = ScriptedHTTP { request, _ in
            fake.pass(request.timeout)
            return .failure(.timedOut)
        }
        let retryPolicy = RetryPolicy(deadline: .seconds(25), timeout: .seconds(10), maximumAttempts: 100)
        #expect(try await outcome(of: http, retryPolicy: retryPolicy) == .timedOut)
        #expect(await http.sent.map(\.request.timeout) == [.seconds(10), .seconds(10), .milliseconds(4250)])
        #expect(fake.elapsed == .seconds(25))
    }

    @Test func `a token that was refused is replaced once, and the request repeated`() async throws {
        let tokens = CountingTokens()
        let http = ScriptedHTTP(.response(401), Self.vended)
        #expect(try await outcome(of: http, tokens: tokens) == nil)
        #expect(await http.sent.map { $0["Authorization"] } == ["Bearer t1", "Bearer t2"])
        #expect(await tokens.refused == ["t1"])
        #expect(fake.sleeps == [])
    }

    /// Basic authentication of a front in maintenance signs nobody out.
    @Test func `a proxy that asks for a password refuses no token`() async throws {
        let tokens = CountingTokens()
        let http = ScriptedHTTP(
            .response(401, [("WWW-Authenticate", #"Basic realm="x""#)], Data("<html></html>".utf8)))
        #expect(try await outcome(of: http, tokens: tokens)?.code == .invalidResponse)
        #expect(await tokens.refused == [])
        #expect(await http.sent.count == 1)
    }

    @Test func `a second refusal is final`() async throws {
        let http = ScriptedHTTP { _, _ in .json(401, #"{"error":"Invalid auth token","code":"unauthorized"}"#) }
        #expect(
            try await outcome(of: http)
                == CloakroomError(.unauthorized, "Invalid auth token", status: 401, serverCode: "unauthorized"))
        #expect(await http.sent.count == 2)
    }

    @Test func `the refused token is not sent a second time`() async throws {
        let http = ScriptedHTTP(.response(401))
        #expect(try await outcome(of: http, tokens: CountingTokens(isStubborn: true))?.code == .unauthorized)
    }

    @Test func `concurrent refusals request one new token`() async throws {
        let tokens = CountingTokens()
        let gate = Gate()
        let http = ScriptedHTTP { request, number in
            number < 50 ? .held(gate, .response(401)) : Self.vended
        }
        let client = try CloakroomClient.test(http, fake, tokens: tokens)
        let calls = (0..<50).map { _ in Task { try await client.vendCredentials() } }
        await http.arrival(of: 50)
        await gate.open()
        for call in calls { _ = try await call.value }
        #expect(await tokens.refused == ["t1"])
        #expect(await http.sent.count == 100)
    }

    @Test func `a cancelled call ends at once, in a request and in a pause`() async throws {
        let fake = FakeRuntime(sleeping: .waits)
        let http = ScriptedHTTP { _, number in number == 0 ? .hang : .response(503) }
        let client = try CloakroomClient.test(http, fake)
        let call = Task { try await client.vendCredentials() }
        await http.arrival(of: 1)
        call.cancel()
        await #expect(throws: CloakroomError.cancelled) { try await call.value }
        let other = Task { try await client.vendCredentials() }
        try await until { !fake.sleeps.isEmpty }
        other.cancel()
        await #expect(throws: CloakroomError.cancelled) { try await other.value }
        #expect(await http.sent.count == 2)
    }

    @Test func `what is not safe to repeat is repeated only when the server requests it`() async throws {
        for (fault, tries) in [
            (ScriptedHTTP.Step.failure(.timedOut), 1), (.failure(.interrupted), 1), (.response(502), 1),
            (.response(503), 4), (.failure(.unreachable), 4),
        ] {
            let http = ScriptedHTTP { _, _ in fault }
            let client = try CloakroomClient.test(http, fake)
            await #expect(throws: CloakroomError.self) {
                try await client.beginMultipartUpload(contentType: "image/jpeg", byteCount: 1)
            }
            #expect(await http.sent.count == tries)
        }
    }

    @Test func `the worker's clock is learned from every response`() async throws {
        let http = ScriptedHTTP(.response(404, [("Date", "Fri, 20 Nov 2026 16:00:00 GMT")]))
        let client = try CloakroomClient.test(http, fake)
        await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
        #expect(await client.serverClock.now.timeIntervalSince1970 == 1_795_190_400.5)
    }
}
