import CloakroomCurl
import Glibc
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct CurlFailureTests {
    @LoopActor private func failure(
        _ url: String, on transport: LoopCurlTransport? = nil, timeout: Duration = .seconds(10),
        fields: HeaderFields = [:]
    ) async -> TransportError? {
        do throws(TransportError) {
            let request = UpstreamRequest(method: "GET", url: url, fields: fields)
            _ = try await (transport ?? LoopCurlTransport()).send(request, timeout: timeout)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            ("reset", [.reset]), ("an end", [.end]), ("half a head", [.text("HTTP/1.1 200 OK\r\nA: "), .end]),
            ("a line that only begins like the last", [.text("HTTP/1.1 200 OK\r\nA: b\r\n\rC: d\r\n"), .end]),
            ("half a body", [.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive."), .end]),
            ("half a chunk", [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nfive."), .end]),
            ("no last chunk", [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"), .end]),
            ("a reset in the body", [.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive."), .reset]),
            ("a chunk of nonsense", [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), .end]),
            ("garbage", [.text("*1\r\n$4\r\nPING\r\n"), .end]),
            ("another protocol", [.text("SSH-2.0-OpenSSH_9\r\n"), .end]),
            ("a status of four digits", [.text("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), .end]),
            ("another protocol than asked for", [.text("HTTP/1.1 101 Switching\r\nUpgrade: a\r\n\r\n"), .end]),
            ("an interim head", [.text("HTTP/1.1 100 Continue\r\n\r\n"), .end]),
            ("a negative length", [.text("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), .end]),
            ("a head without end", [.zeros(1 << 20), .end]),
        ] as [(String, [HTTPServer.Step])])
    @LoopActor func `calls interrupted what ends in`(what: String, steps: [HTTPServer.Step]) async throws {
        let server = try HTTPServer { $0.target == "/good" ? [.answer(200)] : steps }
        let transport = LoopCurlTransport()
        #expect(await failure(server.url, on: transport) == .interrupted)
        #expect(await failure(server.url + "/good", on: transport) == nil)
    }

    @Test @LoopActor func `gives up at the timeout, whenever the server stops talking`() async throws {
        let never = Latch()
        defer { never.open() }
        let silent = try HTTPServer { _ in [.wait(never)] }
        let stalled = try HTTPServer { _ in [.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive."), .wait(never)]
        }
        #expect(await failure(silent.url, timeout: .milliseconds(30)) == .timeout)
        #expect(await failure(stalled.url, timeout: .milliseconds(30)) == .timeout)
    }

    /// The socket of the first is closed before it was connected; the second's may have the same number.
    @Test @LoopActor func `reaches the next server after one that takes no connection`() async throws {
        let full = try FullServer()
        let server = try HTTPServer { _ in [.answer(200), .end] }
        let transport = LoopCurlTransport()
        for _ in 0..<3 {
            #expect(
                await failure("http://127.0.0.1:\(full.port)/", on: transport, timeout: .milliseconds(20)) == .timeout)
            #expect(await failure(server.url, on: transport, timeout: .seconds(2)) == nil)
        }
        withExtendedLifetime(full) {}
    }

    @Test @LoopActor func `knows when nobody listens`() async throws {
        let server = try HTTPServer { _ in [] }
        server.stop()
        #expect(await failure(server.url) == .unreachable)
        #expect(await failure("http://name.invalid/") == .unreachable)
    }

    @Test @LoopActor func `takes no answer beyond its limit`() async throws {
        let server = try HTTPServer { request in
            request.target == "/length"
                ? [.text(HTTPServer.Step.head(200, [("Content-Length", "50000000")])), .zeros(50_000_000)]
                : [.text(HTTPServer.Step.head(200, [])), .zeros(50_000_000), .end]
        }
        var options = LoopCurlTransport.Options()
        options.maximumResponseBytes = 100_000
        let transport = LoopCurlTransport(options: options)
        #expect(await failure(server.url + "/length", on: transport) == .tooLarge)
        #expect(await failure(server.url + "/stream", on: transport) == .tooLarge)
    }

    @Test @LoopActor func `takes an answer up to its limit`() async throws {
        let server = try HTTPServer { _ in [.answer(200, String(repeating: "x", count: 100_000))] }
        var options = LoopCurlTransport.Options()
        options.maximumResponseBytes = 100_000
        #expect(await failure(server.url, on: LoopCurlTransport(options: options)) == nil)
    }

    @Test(arguments: [
        "", "photos", "ftp://127.0.0.1/", "file:///etc/passwd", "http://a b/", "http://127.0.0.1/\r\nX: y",
        "http://127.0.0.1/a b", "http://127.0.0.1/a\u{0}", "http://127.0.0.1/\u{7F}", "http://127.0.0.1/a\tb",
    ])
    @LoopActor func `sends nothing to what is no address of HTTP`(url: String) async {
        #expect(await failure(url) == .invalidRequest)
    }

    @Test(arguments: ["a\r\nX-Injected: 1", "a\nb", "a\rb", "a\u{0}b", "a\u{0}", "\u{0}", "a\u{1}", "a\u{1F}"])
    @LoopActor func `sends no value that would be more than a value`(value: String) async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        #expect(await failure(server.url, fields: ["A": value]) == .invalidRequest)
        #expect(await failure(server.url, fields: ["A": "b", value: "c", "D": ""]) == .invalidRequest)
        #expect(server.requests.isEmpty)
    }

    @Test @LoopActor func `stops when its task is cancelled, and serves the next`() async throws {
        let never = Latch()
        defer { never.open() }
        let arrived = Latch()
        let server = try HTTPServer { request in
            guard request.target == "/hang" else { return [.answer(200)] }
            arrived.open()
            return [.wait(never)]
        }
        let transport = LoopCurlTransport()
        let task = LoopActor.spawn { await self.failure(server.url + "/hang", on: transport) }
        _ = try await onThread { arrived.wait() }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await failure(server.url, on: transport) == nil)
        let early = LoopActor.spawn { await self.failure(server.url + "/hang", on: transport) }
        early.cancel()
        #expect(await early.value == .cancelled)
    }

    /// A cancellation on its way while the answer comes: the next request may have the handle by then.
    @Test @LoopActor func `cancels no other request than its own`() async throws {
        let answer = Latch()
        let sent = Latch()
        let arrived = Latch()
        let server = try HTTPServer { request in
            guard request.target == "/first" else { return [.answer(200)] }
            arrived.open()
            return [.wait(answer), .answer(200), .open(sent)]
        }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let transport = LoopCurlTransport()
        let first = LoopActor.spawn { await self.failure(server.url + "/first", on: transport) }
        _ = try await onThread { arrived.wait() }
        var second: Task<TransportError?, Never>?
        let watch = EventPoller.shared.watch(ends[0], for: [.readable, .edge]) { _ in
            second = LoopActor.spawn { await self.failure(server.url + "/second", on: transport) }
            first.cancel()
        }
        // The loop stands still until both are there: the pipe first, then the answer.
        #expect(write(ends[1], "x", 1) == 1)
        answer.open()
        sent.wait()
        #expect(await first.value == nil)
        let other = try #require(second)
        #expect(await other.value == nil)
        EventPoller.shared.unwatch(watch)
    }
}
