import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

/// How exchanges end before they are done.
@Suite(.timeLimit(.minutes(1))) struct TransportTimeTests {
    /// Reads a request and never answers.
    private static func silent() throws -> LoopbackServer {
        try LoopbackServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForEnd()
        }
    }

    @Test(arguments: [(10, 60), (60, 10)])
    func `silence ends with the shorter of both times`(timeout: Int, idleTimeout: Int) async throws {
        let server = try Self.silent()
        defer { server.stop() }
        let fake = FakeRuntime(sleeping: .waits)
        let transport = URLSessionTransport(runtime: fake.runtime)
        let exchange = Task {
            try await transport.send(
                .get(server.url, timeout: .seconds(timeout), idleTimeout: .seconds(idleTimeout)))
        }
        try await until { !fake.sleeps.isEmpty }
        #expect(fake.sleeps == [.seconds(10)])
        fake.pass(.seconds(10))
        await #expect(throws: HTTPTransportError.timedOut) { try await exchange.value }
        #expect(await server.connectionsEnded(server.connectionCount))
    }

    @Test func `what moves is not idle, but the whole has its end`() async throws {
        let fake = FakeRuntime(sleeping: .waits)
        let server = try LoopbackServer { connection, _ in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            while connection.write(Data("a".utf8)) {}
        }
        defer { server.stop() }
        let transport = URLSessionTransport(runtime: fake.runtime)
        let began = fake.now
        let exchange = Task {
            try await transport.send(
                .get(
                    server.url, into: .memory(maximumBytes: .max), timeout: .seconds(35), idleTimeout: .seconds(10))
            ) { progress in
                // Five seconds go by with every piece that comes.
                if progress.bytesReceived > 0 { fake.pass(.seconds(5)) }
            }
        }
        await #expect(throws: HTTPTransportError.timedOut) { try await exchange.value }
        #expect(began.duration(to: fake.now) >= .seconds(35))
    }

    @Test(arguments: TransportMaker.all) func `a cancelled task sends nothing`(maker: TransportMaker) async throws {
        let server = try Self.silent()
        defer { server.stop() }
        let transport = maker.make()
        let gate = Gate()
        let exchange = Task {
            _ = await gate.pass()
            return try await transport.send(.get(server.url))
        }
        exchange.cancel()
        await #expect(throws: HTTPTransportError.cancelled) { try await exchange.value }
        #expect(server.connectionCount == 0)
    }

    @Test(arguments: TransportMaker.all) func `cancelling ends the exchange and its connection at once`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer { connection, _ in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
            connection.waitForEnd()
        }
        defer { server.stop() }
        let transport = maker.make()
        let hasBegun = Gate()
        let exchange = Task {
            try await transport.send(.get(server.url)) { progress in
                if progress.bytesReceived > 0 { Task { await hasBegun.open() } }
            }
        }
        _ = await hasBegun.pass()
        exchange.cancel()
        await #expect(throws: HTTPTransportError.cancelled) { try await exchange.value }
        #expect(await server.connectionsEnded(1))
    }

    @Test(arguments: TransportMaker.all) func `cancelling from within the progress does not lock up`(
        maker: TransportMaker
    ) async throws {
        let server = try LoopbackServer { connection, _ in
            _ = connection.readHead()
            connection.waitForEnd()
        }
        defer { server.stop() }
        let transport = maker.make()
        let isKnown = Gate()
        let record = Recorder<Int64>()
        let exchange = Task {
            _ = await isKnown.pass()
            return try await transport.send(.put(server.url, .bytes(pattern(20_000_000)))) { progress in
                record.append(progress.bytesSent)
                record.tell()
            }
        }
        record.whenTold { exchange.cancel() }
        await isKnown.open()
        await #expect(throws: HTTPTransportError.cancelled) { try await exchange.value }
        #expect(record.all.count == 1)
        #expect(await server.connectionsEnded(1))
    }

    @Test(arguments: TransportMaker.all) func `after its end nothing is written any more`(maker: TransportMaker)
        async throws
    {
        let server = try LoopbackServer { connection, _ in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while connection.write(Data("400\r\n\(String(repeating: "a", count: 1024))\r\n".utf8)) {}
        }
        defer { server.stop() }
        let transport = maker.make()
        try await withFolder { folder in
            let file = folder.appendingPathComponent("destination")
            try Data().write(to: file)
            let hasBegun = Gate()
            let exchange = Task {
                try await transport.send(.get(server.url, into: .file(file, offset: 0))) { progress in
                    if progress.bytesReceived > 100_000 { Task { await hasBegun.open() } }
                }
            }
            _ = await hasBegun.pass()
            exchange.cancel()
            await #expect(throws: HTTPTransportError.cancelled) { try await exchange.value }
            let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            #expect(await server.connectionsEnded(1))
            #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int == size)
        }
    }

    @Test(arguments: TransportMaker.all) func `progress tells what went out and what came in, in order and to the end`(
        maker: TransportMaker
    ) async throws {
        let response = String(repeating: "a", count: 300_000)
        let server = try LoopbackServer(answering: ok(response))
        defer { server.stop() }
        let steps = Recorder<HTTPProgress>()
        _ = try await maker.make().send(.put(server.url, .bytes(pattern(500_000)))) { steps.append($0) }
        let all = steps.all
        #expect(all.last == HTTPProgress(bytesSent: 500_000, bytesReceived: 300_000))
        #expect(all.contains(HTTPProgress(bytesSent: 500_000, bytesReceived: 0)))
        #expect(all.count > 4)
        for (earlier, later) in zip(all, all.dropFirst()) {
            #expect(earlier.bytesSent <= later.bytesSent && earlier.bytesReceived <= later.bytesReceived)
        }
    }
}
