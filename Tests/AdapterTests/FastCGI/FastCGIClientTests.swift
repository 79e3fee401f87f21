import CloakroomConnections
import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct FastCGIClientTests {
    private func get(_ target: String, body: [UInt8] = []) -> UpstreamRequest {
        UpstreamRequest(
            method: body.isEmpty ? "GET" : "POST", origin: "", target: target,
            fields: ["Authorization": "Bearer t", "Content-Type": "text/plain"], body: body)
    }

    @Test @LoopActor func `gives status, fields and body, of one request after the other on one connection`()
        async throws
    {
        let worker = try TestListener.echoing()
        let client = FastCGIClient(worker.address)
        for number in 0..<20 {
            let response = try await client.send(get("/\(number)?a=b"), timeout: .seconds(5))
            #expect(response.status == 200)
            #expect(response.fields["x"] == "y")
            #expect(String(decoding: response.body, as: UTF8.self) == "GET /\(number) a=b Bearer t ")
        }
        #expect(worker.connections == 1)
    }

    @Test(arguments: [1, 65_535, 65_536, 200_000]) @LoopActor
    func `a body of any length goes there and back`(count: Int) async throws {
        let worker = try TestListener.echoing(.init(bodyBytes: 300_000))
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let response = try await FastCGIClient(worker.address).send(get("/", body: body), timeout: .seconds(5))
        #expect(response.body == Array("POST /  Bearer t ".utf8) + body)
    }

    @Test @LoopActor func `requests beyond the connections wait for one, in their order`() async throws {
        let worker = try TestListener.echoing()
        let client = FastCGIClient(worker.address, maximumConnections: 3)
        var order: [Int] = []
        await withCheckedContinuation { continuation in
            for number in 0..<60 {
                client.send(get("/\(number)"), timeout: .seconds(5)) { result in
                    #expect((try? result.get().status) == 200)
                    order.append(number)
                    if order.count == 60 { continuation.resume() }
                }
            }
        }
        #expect(Set(order) == Set(0..<60))
        // No more than the connections can be ahead of one another.
        for (place, number) in order.enumerated() { #expect(abs(place - number) <= 6) }
        #expect(worker.connections == 3)
    }

    @Test @LoopActor func `a connection that the worker closed meanwhile is replaced, and the request repeated`()
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try SocketServer(unixPath: folder["s"]) { peer, _ in
            // One response for each connection, which was to be kept.
            while let bytes = try? peer.read(), !bytes.isEmpty {
                guard bytes.suffix(8) == [1, 5, 0, 1, 0, 0, 0, 0] else { continue }
                try? peer.write(FastCGIClientTests.answer("Status: 204 No Content\r\n\r\n"))
                return
            }
        }
        defer { server.stop() }
        let client = FastCGIClient(.unix(path: folder["s"]))
        for _ in 0..<5 {
            #expect(try await client.send(get("/"), timeout: .seconds(5)).status == 204)
        }
        #expect(server.accepted == 5)
    }

    /// A unix socket refuses at once, within the call.
    @Test @LoopActor func `any number of waiting requests end when the worker does`() async throws {
        let folder = try TemporaryFolder()
        let arrived = Latch()
        let server = try SocketServer(unixPath: folder["s"]) { peer, _ in
            _ = try? peer.read()
            arrived.open()
            _ = peer.waitForHangup()
        }
        let client = FastCGIClient(.unix(path: folder["s"]))
        let count = 50_000
        var failures: [ExchangeError] = []
        let _: Void = await withCheckedContinuation { continuation in
            for _ in 0..<count {
                client.send(get("/"), timeout: .seconds(30)) { result in
                    if case .failure(let error) = result { failures.append(error) }
                    if failures.count == count { continuation.resume() }
                }
            }
            LoopActor.spawn {
                _ = try? await onThread { arrived.wait() }
                server.stop()
            }
        }
        #expect(failures.filter { $0 != .unreachable(SystemError(code: 111)) } == [.interrupted])
    }

    @Test @LoopActor func `nobody there, a silent worker, and what is no FastCGI are told apart`() async throws {
        let folder = try TemporaryFolder()
        let silent = try SocketServer(unixPath: folder["silent"]) { peer, _ in _ = peer.waitForHangup() }
        let wrong = try SocketServer(unixPath: folder["wrong"]) { peer, _ in
            _ = try? peer.read()
            try? peer.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
            _ = peer.waitForHangup()
        }
        let broken = try SocketServer(unixPath: folder["broken"]) { peer, _ in
            _ = try? peer.read()
            try? peer.write([1, 6, 0, 1, 0, 9, 0, 0, 0x53])
        }
        let headless = try SocketServer(unixPath: folder["headless"]) { peer, _ in
            _ = try? peer.read()
            try? peer.write(FastCGIClientTests.answer("no head"))
            _ = peer.waitForHangup()
        }
        defer { for server in [silent, wrong, broken, headless] { server.stop() } }
        func error(_ name: String) async -> ExchangeError? {
            do throws(ExchangeError) {
                _ = try await FastCGIClient(.unix(path: folder[name])).send(get("/"), timeout: .milliseconds(300))
                return nil
            } catch { return error }
        }
        #expect(await error("none") == .unreachable(SystemError(code: 2)))
        #expect(await error("silent") == .timeout)
        #expect(await error("wrong") == .malformed)
        #expect(await error("broken") == .interrupted)
        #expect(await error("headless") == .malformed)
    }

    @Test @LoopActor func `a request that takes too long gives its connection up, and the next one has another`()
        async throws
    {
        let worker = try TestListener { request, respond in
            if request.path != "/silent" { respond(Response(status: 204)) }
        }
        let client = FastCGIClient(worker.address, maximumConnections: 1)
        await #expect(throws: ExchangeError.timeout) {
            try await client.send(get("/silent"), timeout: .milliseconds(50))
        }
        #expect(try await client.send(get("/"), timeout: .seconds(5)).status == 204)
    }

    @Test @LoopActor func `a port where nobody listens is unreachable`() async throws {
        let server = try SocketServer { _, _ in }
        let port = server.port
        server.stop()
        await #expect(throws: ExchangeError.unreachable(SystemError(code: 111))) {
            try await FastCGIClient(.internet(host: "127.0.0.1", port: port)).send(get("/"), timeout: .seconds(5))
        }
    }

    @Test @LoopActor func `a response in pieces of any size is read`() async throws {
        let bytes = FastCGIClientTests.answer("Status: 201 Created\r\nX-A: b\r\n\r\nbody")
        for size in [1, 3, 8, 9, 17] {
            let folder = try TemporaryFolder()
            let server = try SocketServer(unixPath: folder["s"]) { peer, _ in
                _ = try? peer.read()
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try? peer.write(Array(bytes[start..<min(start + size, bytes.count)]))
                }
                _ = peer.waitForHangup()
            }
            defer { server.stop() }
            let response = try await FastCGIClient(.unix(path: folder["s"])).send(get("/"), timeout: .seconds(5))
            #expect(response == UpstreamResponse(status: 201, fields: ["X-A": "b"], body: Array("body".utf8)))
        }
    }

    /// One record for the log, one of the response, and the end.
    private static func answer(_ output: String) -> [UInt8] {
        let count = UInt8(output.utf8.count)
        return [1, 7, 0, 1, 0, 2, 6, 0, 0x21, 0x0A, 0, 0, 0, 0, 0, 0] + [1, 6, 0, 1, 0, count, 0, 0]
            + Array(output.utf8)
            + [1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    }
}
