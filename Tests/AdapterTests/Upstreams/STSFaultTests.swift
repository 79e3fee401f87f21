import CloakroomAWS
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

/// What STS may do to us, through the real transport.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct STSFaultTests {
    private typealias Documents = UpstreamDocuments

    @Test @LoopActor func `gets credentials`() async throws {
        let upstreams = try TestUpstreams([.answer(200, Documents.assumed())])
        let role = try await upstreams.assume().get()
        #expect(role.credentials.accessKeyID == "ASIA1")
        #expect(role.credentials.secretAccessKey.reveal() == "secret")
        #expect(role.credentials.sessionToken?.reveal() == "token")
        let request = try #require(upstreams.server.requests.first)
        #expect(request.method == "POST" && request.target == "/")
        #expect(String(decoding: request.body, as: UTF8.self).hasPrefix("Action=AssumeRole&Version=2011-06-15&"))
        #expect(request["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=AKID/") == true)
    }

    @Test(
        arguments: [
            ("500", "Status500", [.answer(500)]), ("502 in HTML", "Status502", [.answer(502, "<html></html>")]),
            ("throttling as 400", "Throttling", [.answer(400, Documents.stsError("Throttling"))]),
            ("429", "Status429", [.answer(429)]), ("an end", "Interrupted", [.end]),
            ("a reset", "Interrupted", [.reset]),
            ("half an answer", "Interrupted", [.text("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<Assume"), .end]),
        ] as [(String, String, [HTTPServer.Step])])
    @LoopActor func `tries again after`(what: String, code: String, steps: [HTTPServer.Step]) async throws {
        let passing = try TestUpstreams(
            server: HTTPServer { $0.number < 2 ? steps : [.answer(200, Documents.assumed())] })
        #expect(try await passing.assume().get().credentials.accessKeyID == "ASIA1")
        let lasting = try TestUpstreams(steps)
        #expect(await lasting.assume() == .failure(.unavailable(retryAfter: nil, code: code)))
        #expect(lasting.server.requests.count == 3)
    }

    @Test @LoopActor func `waits no longer for a silent one than it may`() async throws {
        let never = Latch()
        defer { never.open() }
        let upstreams = try TestUpstreams(timeout: .milliseconds(20), [.wait(never)])
        #expect(await upstreams.assume() == .failure(.unavailable(retryAfter: nil, code: "Timeout")))
        #expect(upstreams.server.requests.count == 3)
    }

    @Test(arguments: UpstreamDocuments.spoilt)
    @LoopActor func `gives no credentials for 200 with`(what: String, steps: [HTTPServer.Step]) async throws {
        let upstreams = try TestUpstreams(steps)
        guard case .failure(let error) = await upstreams.assume() else {
            Issue.record("credentials")
            return
        }
        switch error {
        case .unavailable, .unusable: break
        case .refused, .cancelled: Issue.record("\(error)")
        }
    }

    @Test(arguments: [
        ("NoExpiration", Documents.assumed(expiration: nil)), ("NoExpiration", Documents.assumed(expiration: "soon")),
        ("NoSessionToken", Documents.assumed(token: nil)), ("NoSessionToken", Documents.assumed(token: "")),
        ("AlreadyExpired", Documents.assumed(expiration: "2020-01-01T00:00:00Z")),
        ("ExpiresTooLate", Documents.assumed(expiration: "2999-01-01T00:00:00Z")),
    ])
    @LoopActor func `refuses credentials that cannot be handed out`(code: String, body: String) async throws {
        let upstreams = try TestUpstreams([.answer(200, body)])
        #expect(await upstreams.assume() == .failure(.unusable(code: code)))
    }

    @Test(arguments: [
        (400, "PackedPolicyTooLarge"), (400, "MalformedPolicyDocument"), (403, "AccessDenied"),
        (400, "ValidationError"), (403, "InvalidClientTokenId"),
    ])
    @LoopActor func `asks once when the answer will stay no`(status: Int, code: String) async throws {
        let upstreams = try TestUpstreams([.answer(status, Documents.stsError(code))])
        #expect(await upstreams.assume() == .failure(.refused(status: status, code: code)))
        #expect(upstreams.server.requests.count == 1)
    }

    @Test @LoopActor func `corrects its clock by the answer's, once`() async throws {
        let ours = Date(timeIntervalSince1970: 1_795_183_200)
        let skewed = HTTPServer.Step.answer(
            403, Documents.stsError("SignatureDoesNotMatch"), fields: [("Date", "Fri, 20 Nov 2026 15:00:00 GMT")])
        let upstreams = try TestUpstreams(
            server: HTTPServer { exchange in
                exchange.number == 0 ? [skewed] : [.answer(200, Documents.assumed(expiration: "2026-11-20T15:15:00Z"))]
            }, wallClock: { ours })
        #expect(try await upstreams.assume().get().credentials.accessKeyID == "ASIA1")
        #expect(upstreams.server.requests.map { $0["x-amz-date"] } == ["20261120T140000Z", "20261120T150000Z"])
        let stubborn = try TestUpstreams(server: HTTPServer { _ in [skewed] }, wallClock: { ours })
        #expect(await stubborn.assume() == .failure(.refused(status: 403, code: "SignatureDoesNotMatch")))
        #expect(stubborn.server.requests.count == 2)
    }

    @Test @LoopActor func `follows no redirect with a signed request`() async throws {
        let elsewhere = try HTTPServer { _ in [.answer(200, Documents.assumed())] }
        let upstreams = try TestUpstreams([.answer(307, fields: [("Location", elsewhere.url)])])
        #expect(await upstreams.assume() == .failure(.refused(status: 307, code: "Status307")))
        #expect(elsewhere.connections == 0)
    }
}
