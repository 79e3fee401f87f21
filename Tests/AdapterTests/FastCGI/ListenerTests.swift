import CloakroomFastCGI
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct ListenerTests {
    @Test @LoopActor func `answers a request whole`() async throws {
        let worker = try TestListener.echoing()
        let answer = try await onThread {
            let peer = try worker.connect()
            var request = FastCGIRequest(method: "POST", target: "/a?b=c", body: Array("body".utf8))
            request.id = 7
            request.parameters.append(("HTTP_AUTHORIZATION", "t"))
            try peer.write(request.bytes)
            return try peer.answers()
        }
        #expect(
            answer == [
                FastCGIResponse(
                    id: 7, output: Array("Status: 200 OK\r\nContent-Length: 18\r\nX: y\r\n\r\nPOST /a b=c t body".utf8))
            ])
        await worker.listener.drain()
    }

    @Test @LoopActor func `keeps a connection that is to be kept, and closes another`() async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            let peer = try worker.connect()
            for number in 0..<50 {
                try peer.write(FastCGIRequest(target: "/\(number)").bytes)
                #expect(try peer.answers().map(\.body) == [Array("GET /\(number)  - ".utf8)])
            }
            #expect(try worker.ask("/once") == "Status: 200 OK\r\nContent-Length: 13\r\nX: y\r\n\r\nGET /once  - ")
        }
        await worker.listener.drain()
    }

    @Test(arguments: [2, 20_000]) @LoopActor func `answers pipelined requests in their order`(count: Int) async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            let peer = try worker.connect()
            let writing = Thread { try? peer.write((0..<count).flatMap { FastCGIRequest(target: "/\($0)").bytes }) }
            writing.start()
            let answers = try peer.answers(count)
            #expect(answers.map(\.body) == (0..<count).map { Array("GET /\($0)  - ".utf8) })
        }
        await worker.listener.drain()
    }

    /// Were each handled within the response to the one before, a long pipeline would run the stack out.
    @Test @LoopActor func `handles pipelined requests that are answered at once one after the other`() async throws {
        var depth = 0
        var deepest = 0
        let worker = try TestListener { _, respond in
            depth += 1
            deepest = max(deepest, depth)
            respond(Response(status: 200))
            depth -= 1
        }
        // The loop is busy here, so it finds all of them together.
        let peer = try worker.connect()
        try peer.write((0..<100).flatMap { FastCGIRequest(target: "/\($0)").bytes })
        let count = try await onThread { try peer.answers(100).count }
        #expect(count == 100)
        // The first response may lead to the others.
        #expect(deepest <= 2)
        await worker.listener.drain()
    }

    @Test @LoopActor func `answers a request that comes byte by byte`() async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            let peer = try worker.connect()
            for byte in FastCGIRequest(target: "/slow").bytes { try peer.write([byte]) }
            #expect(try peer.answers().map(\.body) == [Array("GET /slow  - ".utf8)])
        }
        await worker.listener.drain()
    }

    /// Only without free descriptors it does not look at the backlog for a tenth of a second.
    @Test @LoopActor func `takes one connection right after the other`() async throws {
        let worker = try TestListener.echoing()
        let times = try await onThread {
            try (0..<10).map { number in
                let start = ContinuousClock.now
                // Its response comes after the look at the backlog.
                _ = try worker.ask("/\(number)7")
                return ContinuousClock.now - start
            }
        }
        #expect(try #require(times.dropFirst().min()) < .milliseconds(50))
        await worker.listener.drain()
    }

    @Test(arguments: [0, 1, 8192, 65_535, 65_536, 300_000])
    @LoopActor func `takes a body of any size that is allowed`(count: Int) async throws {
        let worker = try TestListener.echoing(.init(bodyBytes: 300_000))
        try await onThread {
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(method: "PUT", target: "/", body: body).bytes)
            #expect(try peer.answers().map(\.body) == [Array("PUT /  - ".utf8) + body])
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `answers 413 to a larger one, and lets its sender finish`() async throws {
        let worker = try TestListener.echoing(.init(bodyBytes: 1000))
        try await onThread {
            let peer = try worker.connect()
            try peer.write(
                FastCGIRequest(method: "PUT", target: "/", body: [UInt8](repeating: 1, count: 3_000_000)).bytes)
            var reader = FastCGIResponseReader()
            try reader.feed(peer.readToEnd())
            #expect(
                reader.answers.map(\.text) == ["Status: 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large"])
        }
        await worker.listener.drain()
    }

    /// A peer may have said all that it has to say and still wait for answers.
    @Test @LoopActor func `answers all that came with the end of the stream while it was busy`() async throws {
        var first: (@LoopActor () -> Void)?
        let worker = try TestListener { request, respond in
            let answer = Response(status: 200, body: Array(request.path.utf8))
            if request.path == "/0" { first = { respond(answer) } } else { respond(answer) }
        }
        let peer = try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/0").bytes)
            return peer
        }
        while first == nil { await Task.yield() }
        try await onThread {
            try peer.write((1...3).flatMap { FastCGIRequest(target: "/\($0)").bytes })
            peer.finishWriting()
        }
        // Until the loop has heard of it.
        try await LoopActor.sleep(for: .milliseconds(5))
        first?()
        first = nil
        let answers = try await onThread { try peer.answers(4) }
        #expect(answers.map(\.body) == (0...3).map { Array("/\($0)".utf8) })
        await worker.listener.drain()
    }

    @Test @LoopActor func `says what it can take, then answers`() async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            var asking = FastCGIRequest([])
            asking.id = 0
            let peer = try worker.connect()
            try peer.write(asking.record(9, []))
            #expect(try peer.read().starts(with: [1, 10, 0, 0]))
            try peer.write(FastCGIRequest(target: "/then").bytes)
            #expect(try peer.answers().map(\.body) == [Array("GET /then  - ".utf8)])
        }
        await worker.listener.drain()
    }
}
