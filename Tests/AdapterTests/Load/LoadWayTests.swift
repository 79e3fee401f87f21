import CloakroomLoad
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

/// What a response is does not depend on how a load reaches the server.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct LoadWayTests {
    struct Response: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [HTTPServer.Step]
        let status: Int
        let isKept: Bool

        init(_ what: String, _ steps: [HTTPServer.Step], _ status: Int = 200, kept: Bool) {
            testDescription = what
            self.steps = steps
            self.status = status
            isKept = kept
        }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let responses = [
        Response("a length", [.answer(200, "body")], kept: true),
        Response("no length but 0", [.answer(200)], kept: true),
        Response(
            "a length in two pieces", [.text(ok + "Content-Le"), .text("ngth:  4 \r\n\r\nbo"), .text("dy")], kept: true),
        Response("an error's status", [.answer(503, "slow down")], 503, kept: true),
        Response("chunks", [.chunked(200, ["ab", String(repeating: "c", count: 300)])], kept: true),
        Response(
            "chunks with extensions, in capitals, and trailers",
            [
                .text(
                    ok
                        + "TRANSFER-ENCODING: Chunked\r\n\r\nA;b=c\r\n0123456789\r\n000\r\nX: y\r\nContent-Length: 9\r\n\r\n"
                )
            ],
            kept: true),
        Response(
            "chunks and a length, which does not count",
            [.text(ok + "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")], kept: true),
        Response("a body to the end", [.text(ok + "\r\nbody"), .end], kept: false),
        Response("nothing to the end", [.text(ok + "\r\n"), .end], kept: false),
        Response("100 before it", [.text("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"), .answer(200, "body")], kept: true),
        Response(
            "103 and 100 before it, with lengths",
            [
                .text("HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\nHTTP/1.1 100 C\r\n\r\n"),
                .answer(201, "body"),
            ],
            201, kept: true),
        Response("204", [.text(HTTPServer.Step.head(204, []))], 204, kept: true),
        Response("304 with a length", [.text(HTTPServer.Step.head(304, [("Content-Length", "5")]))], 304, kept: true),
        Response("a close", [.answer(200, "body", fields: [("Connection", "close")]), .end], kept: false),
        Response("HTTP/1.0", [.text("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody"), .end], kept: false),
        Response(
            "HTTP/1.0 that keeps alive",
            [.text("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 4\r\n\r\nbody")], kept: true),
        Response(
            "lines that end in line feeds", [.text("HTTP/1.1 200 OK\nA: b\nContent-Length: 4\n\nbody")], kept: true),
        Response("no reason", [.text("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")], kept: true),
        Response(
            "fields of other names", [.text(ok + "Content-Lengths: 9\r\n:\r\nContent-Length: 0\r\n\r\n")], kept: true),
        Response("more than was told", [.text(ok + "Content-Length: 2\r\n\r\nokHTTP/1.1 500 X\r\n\r\n")], kept: false),
        Response("a body of the most there may be", [.answer(200, String(repeating: "x", count: 1 << 20))], kept: true),
    ]

    @Test(arguments: LoadWay.allCases, responses) @LoopActor
    func `a response has its status, and its connection carries the next request`(way: LoadWay, response: Response)
        async throws
    {
        let server = try HTTPServer { $0.number == 0 ? response.steps : [.answer(202)] }
        let target = way.target(server.url)
        #expect(await target.outcome() == .response(status: response.status))
        #expect(await target.outcome() == .response(status: 202))
        #expect(server.connections == (response.isKept ? 1 : 2))
    }

    @Test(
        arguments: LoadWay.allCases,
        [
            ("reset", [.reset]), ("an end", [.end]), ("half a head", [.text(ok + "A: "), .end]),
            ("half a status line", [.text("HTTP/1.1 20"), .end]),
            ("a line that only begins like the last", [.text(ok + "A: b\r\n\rC: d\r\n"), .end]),
            ("half a body", [.text(ok + "Content-Length: 10\r\n\r\nfive."), .end]),
            ("half a chunk", [.text(ok + "Transfer-Encoding: chunked\r\n\r\na\r\nfive."), .end]),
            ("no last chunk", [.text(ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"), .end]),
            (
                "a chunk longer than told",
                [.text(ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n"), .end]
            ),
            ("a reset in the body", [.text(ok + "Content-Length: 10\r\n\r\nfive."), .reset]),
            ("a chunk of nonsense", [.text(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), .end]),
            (
                "a chunk without bounds",
                [.text(ok + "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\n"), .end]
            ),
            ("garbage", [.text("*1\r\n$4\r\nPING\r\n"), .end]),
            ("another protocol", [.text("SSH-2.0-OpenSSH_9\r\n"), .end]),
            ("a status of four digits", [.text("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), .end]),
            ("another protocol than asked for", [.text("HTTP/1.1 101 Switching\r\nUpgrade: a\r\n\r\n"), .end]),
            ("an interim head", [.text("HTTP/1.1 100 Continue\r\n\r\n"), .end]),
            ("a line without a colon", [.text(ok + "what\r\nContent-Length: 0\r\n\r\n"), .end]),
            ("a NUL", [.text(ok + "A: b\u{0}\r\nContent-Length: 0\r\n\r\n"), .end]),
            ("a negative length", [.text(ok + "Content-Length: -1\r\n\r\n"), .end]),
            ("a head without end", [.zeros(1 << 20), .end]),
        ] as [(String, [HTTPServer.Step])])
    @LoopActor func `interrupted is what ends in`(way: LoadWay, what: (String, [HTTPServer.Step])) async throws {
        let server = try HTTPServer { $0.number == 0 ? what.1 : [.answer(200)] }
        let target = way.target(server.url)
        #expect(await target.outcome() == .failure(.interrupted))
        #expect(await target.outcome() == .response(status: 200))
        #expect(server.requests.count == 2)
    }

    @Test(
        arguments: LoadWay.allCases,
        [
            ("a head", [.answer(200, fields: (0..<800).map { ("X-\($0)", String(repeating: "v", count: 100)) })]),
            ("a body", [.text(HTTPServer.Step.head(200, [("Content-Length", "50000000")])), .zeros(50_000_000)]),
            ("a body to the end", [.text(HTTPServer.Step.head(200, [])), .zeros(50_000_000), .end]),
            (
                "chunks",
                [.chunked(200, (0..<3).map { _ in String(repeating: "x", count: 400_000) })]
            ),
        ] as [(String, [HTTPServer.Step])])
    @LoopActor func `malformed is what is too large`(way: LoadWay, what: (String, [HTTPServer.Step])) async throws {
        let server = try HTTPServer { $0.number == 0 ? what.1 : [.answer(200)] }
        let target = way.target(server.url)
        #expect(await target.outcome() == .failure(.malformed))
        #expect(await target.outcome() == .response(status: 200))
    }

    @Test(
        arguments: LoadWay.allCases,
        [("silence", ""), ("half a head", ok + "A: b"), ("half a body", ok + "Content-Length: 10\r\n\r\nfive.")])
    @LoopActor func `the time limit ends what stalls in`(way: LoadWay, what: (String, text: String)) async throws {
        let never = Latch()
        defer { never.open() }
        let server = try HTTPServer { $0.number == 0 ? [.text(what.text), .wait(never)] : [.answer(200)] }
        let target = way.target(server.url, timeout: .milliseconds(300))
        #expect(await target.outcome() == .failure(.timeout))
        #expect(await target.outcome() == .response(status: 200))
    }

    @Test(arguments: LoadWay.allCases) @LoopActor
    func `the time limit holds for a connection, and for the wait for one`(way: LoadWay) async throws {
        let full = try FullServer()
        let url = "http://127.0.0.1:\(full.port)"
        #expect(await way.target(url, timeout: .milliseconds(50)).outcome() == .failure(.timeout))
        let target = way.target(url, timeout: .milliseconds(50), maximumConnections: 1)
        #expect(await target.outcomes(ofFirst: 2) == [.failure(.timeout), .failure(.timeout)])
        withExtendedLifetime(full) {}
    }

    @Test(arguments: LoadWay.allCases) @LoopActor
    func `a port where nobody listens is unreachable`(way: LoadWay) async throws {
        let server = try HTTPServer { _ in [] }
        server.stop()
        #expect(await way.target(server.url).outcome() == .failure(.unreachable))
    }

    @Test(arguments: LoadWay.allCases) @LoopActor
    func `a request is repeated when the server had closed its connection`(way: LoadWay) async throws {
        let server = try HTTPServer { $0.number == 1 ? [.end] : [.answer(200)] }
        let target = way.target(server.url, RequestMix([.init(.renew, weight: 1)]))
        for request in 0..<3 { #expect(await target.outcome(of: request) == .response(status: 200)) }
        #expect(server.connections == 2)
        #expect(server.requests.map(\.body) == Array(repeating: Array(#"{"assetKeys":["a.jpg"]}"#.utf8), count: 4))
    }

    @Test(arguments: LoadWay.allCases) @LoopActor
    func `requests beyond the connections wait for one`(way: LoadWay) async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let target = way.target(server.url, maximumConnections: 3)
        #expect(target.connections == 3)
        #expect(await target.outcomes(ofFirst: 200) == Array(repeating: .response(status: 200), count: 200))
        #expect(server.connections == 3)
    }

    @Test(arguments: LoadWay.allCases) @LoopActor
    func `a request has the same fields, whoever sends it`(way: LoadWay) async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        _ = await way.target(server.url, RequestMix([.init(.renew, weight: 1)])).outcome()
        _ = await way.target(server.url, RequestMix([.init(.upload, weight: 1)])).outcome()
        _ = await way.target(server.url).outcome()
        let lines = server.requests.map { request in
            ["\(request.method) \(request.target)"] + request.fields.map { "\($0.name): \($0.value)" }.sorted()
        }
        let agent = "user-agent: cloakroom" + (way == .libcurl ? " HTTP/1.1" : "")
        let host = "host: " + server.url.dropFirst("http://".count)
        #expect(
            lines == [
                [
                    "POST /v2/assets/renew-batch", "authorization: Bearer t", "content-length: 23",
                    "content-type: application/json",
                    host, agent,
                ],
                ["GET /v2/attachments/presigned?contentType=image/jpeg", "authorization: Bearer t", host, agent],
                ["GET /healthz", host, agent],
            ])
    }
}
