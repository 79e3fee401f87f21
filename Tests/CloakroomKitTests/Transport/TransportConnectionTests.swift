import CloakroomKit
import Foundation
import Testing

/// What becomes of connections.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TransportConnectionTests {
    @Test(arguments: TransportMaker.all) func `two thousand requests one after the other use one connection`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer(answering: ok("hello"))
        defer { server.stop() }
        let transport = maker.make()
        for _ in 0..<2000 { #expect(try await transport.send(.get(server.url)).status == 200) }
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: TransportMaker.all) func `there are never more connections to a host than were allowed`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer(answering: ok("hello"))
        defer { server.stop() }
        let transport = maker.make(maximumConnectionsPerHost: 3)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await transport.send(.get(server.url)).status } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.connectionCount <= 3)
    }

    @Test(arguments: TransportMaker.all, [true, false])
    func `a body is sent whole again when a kept connection has died`(maker: TransportMaker, fromFile: Bool)
        async throws
    {
        let body = pattern(3_000_000)
        let server = try LoopbackServer { connection, number in
            guard connection.readRequest() != nil else { return }
            connection.write(ok("first"))
            if number > 0 { return }
            // The second request meets a connection that dies amid its body.
            _ = connection.readHead()
            _ = connection.read(200_000)
            connection.reset()
        }
        defer { server.stop() }
        let transport = maker.make()
        try await withFolder { folder in
            let file = folder.appendingPathComponent("body")
            try body.write(to: file)
            _ = try await transport.send(.get(server.url))
            let sent: HTTPBody = fromFile ? .file(file, 0..<Int64(body.count)) : .bytes(body)
            // Either the system sends it again or it is ours to do so; half of it never counts.
            do throws(HTTPTransportError) {
                #expect(try await transport.send(.put(server.url, sent)).status == 200)
                #expect(server.requests.last?.body == body)
            } catch {
                #expect(error == .interrupted)
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test(arguments: TransportMaker.all) func `a transport takes its connections along when it goes`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer(answering: ok("hello"))
        defer { server.stop() }
        for _ in 0..<200 {
            let transport = maker.make()
            #expect(try await transport.send(.get(server.url)).status == 200)
        }
        #expect(server.connectionCount == 200)
        #expect(await server.connectionsEnded(200))
    }

    @Test(arguments: TransportMaker.all) func `cancelling many at any moment leaves the others alone`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer(answering: ok(String(repeating: "a", count: 50_000)))
        defer { server.stop() }
        let transport = maker.make()
        let kept = (0..<100).map { _ in
            Task { try await transport.send(.put(server.url, .bytes(Data(count: 100_000)))).status }
        }
        for _ in 0..<300 {
            let task = Task { try await transport.send(.put(server.url, .bytes(Data(count: 100_000)))).status }
            await Task.yield()
            task.cancel()
        }
        for task in kept { #expect(try await task.value == 200) }
    }
}
