import CloakroomConnections
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Glibc
import Testing

/// What only this client does; what it has in common with libcurl is in `LoadWayTests`.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct PlainHTTPClientTests {
    private func address(_ port: UInt16) -> ServerAddress { .internet(host: "127.0.0.1", port: port) }

    @LoopActor private func send(
        _ client: PlainHTTPClient, _ request: UpstreamRequest = UpstreamRequest(method: "GET", origin: "", target: "/")
    ) async -> Result<UpstreamResponse, ExchangeError> {
        await withCheckedContinuation { continuation in
            client.send(request, timeout: .seconds(10)) { continuation.resume(returning: $0) }
        }
    }

    /// Of a server that listens no more.
    private func closedPort() throws -> UInt16 {
        let server = try SocketServer { _, _ in }
        server.stop()
        return server.port
    }

    @Test @LoopActor func `the next address is tried when one refuses, and kept to`() async throws {
        let server = try SocketServer { peer, _ in
            while let bytes = try? peer.read(), !bytes.isEmpty {
                try? peer.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
                return
            }
        }
        defer { server.stop() }
        let addresses = [address(try closedPort()), address(server.port)]
        let client = PlainHTTPClient(authority: "photos.example", addresses: addresses, maximumConnections: 2)
        for _ in 0..<3 { #expect(await send(client) == .success(UpstreamResponse(status: 200))) }
        #expect(server.accepted == 3)
    }

    @Test @LoopActor func `a server that refuses at all its addresses is unreachable, each time`() async throws {
        let addresses = [address(try closedPort()), address(try closedPort())]
        let client = PlainHTTPClient(authority: "photos.example", addresses: addresses, maximumConnections: 2)
        for _ in 0..<3 { #expect(await send(client) == .failure(.unreachable(SystemError(code: ECONNREFUSED)))) }
    }

    @Test @LoopActor func `a response before the request is whole counts, and its connection is closed`() async throws {
        let received = Latch()
        let closed = Latch()
        let server = try SocketServer { peer, _ in
            _ = try? peer.read(1)
            try? peer.write(Array("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n".utf8))
            // Else the client could get rid of the whole request.
            received.wait()
            while let bytes = try? peer.read(), !bytes.isEmpty {}
            closed.open()
        }
        defer { server.stop() }
        let client = PlainHTTPClient(
            authority: "photos.example", addresses: [address(server.port)], maximumConnections: 1)
        // More than the buffers of both sockets hold.
        let request = UpstreamRequest(
            method: "POST", origin: "", target: "/", body: [UInt8](repeating: 0x61, count: 64 << 20))
        #expect(await send(client, request) == .success(UpstreamResponse(status: 413)))
        received.open()
        #expect(try await onThread { closed.wait() })
    }

    @Test(arguments: [
        UpstreamRequest(method: "GET", origin: "", target: "/a b"),
        UpstreamRequest(method: "GET", origin: "", target: "a"),
        UpstreamRequest(method: "GET", origin: "", target: "/\r\nX: y"),
        UpstreamRequest(method: "GET", origin: "", target: "/", fields: ["A": "b\r\nX: y"]),
        UpstreamRequest(method: "GET", origin: "", target: "/", fields: ["A": "b\u{0}"]),
        UpstreamRequest(method: "HEAD", origin: "", target: "/"),
    ])
    @LoopActor func `sends nothing that would be more than one request`(request: UpstreamRequest) async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let port = try #require(UInt16(server.url.split(separator: ":").last ?? ""))
        let client = PlainHTTPClient(authority: "photos.example", addresses: [address(port)], maximumConnections: 1)
        #expect(await send(client, request) == .failure(.malformed))
        #expect(server.connections == 0)
    }

    @Test func `a name has its addresses, an address itself, and what is no name none`() {
        #expect(ServerAddress.resolve(host: "127.0.0.1", port: 80) == [address(80)])
        #expect(ServerAddress.resolve(host: "::1", port: 80) == [.internet(host: "::1", port: 80)])
        #expect(ServerAddress.resolve(host: "localhost", port: 81).contains(address(81)))
        #expect(ServerAddress.resolve(host: "name.invalid", port: 80).isEmpty)
    }
}
