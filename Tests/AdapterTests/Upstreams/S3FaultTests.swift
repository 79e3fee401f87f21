import CloakroomAWS
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

/// What S3 may do to us, through the real transport.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct S3FaultTests {
    private typealias Documents = UpstreamDocuments

    @Test @LoopActor func `renews`() async throws {
        let upstreams = try TestUpstreams([.answer(200, Documents.copied)])
        #expect(await upstreams.renew("a+b/../c.bin") == .renewed(expiration: nil))
        let request = try #require(upstreams.server.requests.first)
        #expect(request.method == "PUT" && request.target == "/photos/a%2Bb/../c.bin" && request.body.isEmpty)
        #expect(request["x-amz-copy-source"] == "photos/a%2Bb/../c.bin")
    }

    @Test(
        arguments: [
            ("SlowDown", [.answer(503, Documents.s3Error("SlowDown"))]), ("Status500", [.answer(500)]),
            ("Interrupted", [.end]), ("Interrupted", [.reset]),
            ("Interrupted", [.text("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<CopyObjectResult>"), .end]),
            ("InternalError", [.answer(200, Documents.s3Error("InternalError"))]),
        ] as [(String, [HTTPServer.Step])])
    @LoopActor func `tries again, then says that it may pass`(code: String, steps: [HTTPServer.Step]) async throws {
        let passing = try TestUpstreams(server: HTTPServer { $0.number < 2 ? steps : [.answer(200, Documents.copied)] })
        #expect(await passing.renew() == .renewed(expiration: nil))
        let lasting = try TestUpstreams(steps)
        #expect(await lasting.renew() == .unavailable(retryAfter: nil, code: code))
        #expect(lasting.server.requests.count == 3)
    }

    @Test @LoopActor func `waits no longer for a silent one than it may`() async throws {
        let never = Latch()
        defer { never.open() }
        let upstreams = try TestUpstreams(timeout: .milliseconds(20), [.wait(never)])
        #expect(await upstreams.renew() == .unavailable(retryAfter: nil, code: "Timeout"))
    }

    @Test(arguments: UpstreamDocuments.spoilt)
    @LoopActor func `calls nothing renewed for 200 with`(what: String, steps: [HTTPServer.Step]) async throws {
        guard case .unavailable = try await TestUpstreams(steps).renew() else {
            Issue.record("a definite answer")
            return
        }
    }

    @Test(
        arguments: [
            (404, Documents.s3Error("NoSuchKey"), .notFound),
            (404, Documents.s3Error("NoSuchBucket"), .misconfigured(code: "NoSuchBucket")),
            (404, "", .misconfigured(code: "Status404")),
            (403, Documents.s3Error("AccessDenied"), .accessDenied(code: "AccessDenied")),
            (403, Documents.s3Error("InvalidObjectState"), .archived),
            (412, Documents.young, .recentlyWritten(expiration: nil)),
            (400, Documents.s3Error("KeyTooLongError"), .invalidKey),
            (301, Documents.s3Error("PermanentRedirect"), .misconfigured(code: "PermanentRedirect")),
        ] as [(Int, String, Renewal.Outcome)])
    @LoopActor func `takes a definite answer at once`(status: Int, body: String, outcome: Renewal.Outcome) async throws
    {
        let upstreams = try TestUpstreams([.answer(status, body)])
        #expect(await upstreams.renew() == outcome)
        #expect(upstreams.server.requests.count == 1)
    }

    @Test @LoopActor func `replaces the metadata where a copy onto itself is refused, and remembers it`() async throws {
        let head: [(String, String)] = [
            ("ETag", "\"e1\""), ("Content-Type", "image/jpeg"), ("Content-Length", "5"), ("x-amz-meta-a", "1"),
            ("Last-Modified", "Fri, 01 Nov 2024 00:00:00 GMT"),
        ]
        let server = try HTTPServer { request in
            if request.method == "HEAD" { return [.text(HTTPServer.Step.head(200, head))] }
            let replaces = request["x-amz-metadata-directive"] == "REPLACE"
            return replaces ? [.answer(200, Documents.copied)] : [.answer(400, Documents.selfCopyRefused)]
        }
        let upstreams = try TestUpstreams(server: server)
        #expect(await upstreams.renew() == .renewed(expiration: nil))
        #expect(await upstreams.renew() == .renewed(expiration: nil))
        #expect(server.requests.map(\.method) == ["PUT", "HEAD", "PUT", "HEAD", "PUT"])
        let last = try #require(server.requests.last)
        #expect(last["x-amz-meta-a"] == "1" && last["content-type"] == "image/jpeg")
        #expect(last["x-amz-copy-source-if-match"] == "\"e1\"")
        #expect(server.connections == 1)
    }

    @Test @LoopActor func `replaces no metadata that broke off on the way`() async throws {
        let server = try HTTPServer { request in
            request.method == "HEAD"
                ? [
                    .text("HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nLast-Modified: Fri, 01 Nov 2024 00:00:00 GMT\r\nx-amz-m"),
                    .end,
                ]
                : [.answer(200, Documents.copied)]
        }
        let upstreams = try TestUpstreams(server: server, renewal: .init(mode: .replace))
        #expect(await upstreams.renew() == .unavailable(retryAfter: nil, code: "Interrupted"))
        #expect(Set(server.requests.map(\.method)) == ["HEAD"])
    }
}
