import CloakroomKit
import Foundation
import Testing

/// Where answers go.
@Suite(.timeLimit(.minutes(1))) struct TransportDestinationTests {
    private static func chunked(_ body: String) -> String {
        let size = String(body.utf8.count, radix: 16)
        return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n"
    }

    @Test(
        arguments: TransportMaker.all,
        [
            ok(String(repeating: "a", count: 100)), chunked(String(repeating: "a", count: 100)),
            "HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n" + String(repeating: "a", count: 100),
        ])
    func `memory has a limit`(maker: TransportMaker, bytes: String) async throws {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            if connection.readRequest() != nil { connection.write(bytes) }
        }
        defer { server.stop() }
        await #expect(throws: HTTPTransportError.tooLarge) {
            try await transport.send(.get(server.url, into: .memory(maximumBytes: 99)))
        }
        let response = try await transport.send(.get(server.url, into: .memory(maximumBytes: 100)))
        #expect(response.body.count == 100)
    }

    @Test(arguments: TransportMaker.all) func `what exceeds the memory is not read to its end`(maker: TransportMaker)
        async throws
    {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            guard connection.readRequest() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while connection.write(Data("400\r\n\(String(repeating: "a", count: 1024))\r\n".utf8)) {}
        }
        defer { server.stop() }
        await #expect(throws: HTTPTransportError.tooLarge) {
            try await transport.send(.get(server.url, into: .memory(maximumBytes: 10_000)))
        }
        #expect(await server.connectionsEnded(1))
    }

    @Test(arguments: TransportMaker.all) func `nothing is written through a symbolic link`(maker: TransportMaker)
        async throws
    {
        let transport = maker.make()
        let server = try LoopbackServer(answering: ok("hello"))
        defer { server.stop() }
        try await withFolder { folder in
            let (file, link) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("link"))
            try Data("kept".utf8).write(to: file)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            await #expect(throws: HTTPTransportError.unwritableFile(isFull: false)) {
                try await transport.send(.get(server.url, into: .file(link, offset: 0)))
            }
            #expect(try Data(contentsOf: file) == Data("kept".utf8))
        }
    }

    @Test(arguments: TransportMaker.all) func `a success goes to its place in a file and nowhere else`(
        maker: TransportMaker
    ) async throws {
        let transport = maker.make()
        let body = pattern(3_000_000)
        let server = try LoopbackServer { connection, _ in
            guard connection.readRequest() != nil else { return }
            connection.write("HTTP/1.1 206 Partial\r\nContent-Length: \(body.count)\r\n\r\n")
            _ = connection.write(body)
        }
        defer { server.stop() }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("destination")
            let before = Data(repeating: 1, count: body.count + 300)
            try before.write(to: file)
            let response = try await transport.send(.get(server.url, into: .file(file, offset: 100)))
            #expect(response.status == 206)
            #expect(response.body.isEmpty)
            #expect(response.byteCount == Int64(body.count))
            #expect(try Data(contentsOf: file) == before.prefix(100) + body + before.prefix(200))
        }
    }

    @Test(arguments: TransportMaker.all, [400, 404, 503, 307])
    func `the text of an error stays out of the file`(maker: TransportMaker, status: Int) async throws {
        let transport = maker.make()
        let text = String(repeating: "e", count: 70_000)
        let server = try LoopbackServer(
            answering: "HTTP/1.1 \(status) X\r\nContent-Length: \(text.utf8.count)\r\nLocation: /\r\n\r\n\(text)")
        defer { server.stop() }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("destination")
            try Data("before".utf8).write(to: file)
            let response = try await transport.send(.get(server.url, into: .file(file, offset: 0)))
            #expect(response.status == status)
            #expect(response.body == Data(text.utf8.prefix(65_536)))
            #expect(response.byteCount == 70_000)
            #expect(try Data(contentsOf: file) == Data("before".utf8))
        }
    }

    @Test(arguments: TransportMaker.all) func `a file that is not there is no destination, and nothing is sent`(
        maker: TransportMaker
    ) async throws {
        let transport = maker.make()
        let server = try LoopbackServer(answering: ok())
        defer { server.stop() }
        try await withFolder { folder in
            await #expect(throws: HTTPTransportError.unwritableFile(isFull: false)) {
                try await transport.send(
                    .get(server.url, into: .file(folder.appendingPathComponent("none"), offset: 0)))
            }
            await #expect(throws: HTTPTransportError.unwritableFile(isFull: false)) {
                try await transport.send(.get(server.url, into: .file(folder, offset: 0)))
            }
        }
        #expect(server.connectionCount == 0)
    }

    #if os(Linux)
        @Test(arguments: TransportMaker.all) func `a full disk is told apart`(maker: TransportMaker) async throws {
            let transport = maker.make()
            let server = try LoopbackServer(answering: ok("bytes"))
            defer { server.stop() }
            await #expect(throws: HTTPTransportError.unwritableFile(isFull: true)) {
                try await transport.send(
                    .get(server.url, into: .file(URL(fileURLWithPath: "/dev/full"), offset: 0)))
            }
        }
    #endif
}
