import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

/// Whatever one connection does, the next one is served.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct BadPeerTests {
    private static let good = "Status: 200 OK\r\nContent-Length: 13\r\nX: y\r\n\r\nGET /good  - "

    private static let impatient: FastCGIListener.Limits = {
        var limits = FastCGIListener.Limits(bodyBytes: 65_536)
        limits.requestTimeout = .milliseconds(10)
        return limits
    }()

    @Test(
        arguments: [
            ("HTTP", Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
            ("an abort", [1, 2, 0, 1, 0, 0, 0, 0]),
            ("no method", FastCGIRequest([("REQUEST_URI", "/")]).bytes),
            ("no target", FastCGIRequest([("REQUEST_METHOD", "GET")]).bytes),
            ("no parameters", FastCGIRequest([]).bytes),
        ] as [(String, [UInt8])])
    @LoopActor func `closes one that sends`(what: String, bytes: [UInt8]) async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            let peer = try worker.connect()
            try peer.write(bytes)
            #expect(try peer.readToEnd() == [])
            #expect(try worker.ask("/good") == Self.good)
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `closes one that sends half a request and no more`() async throws {
        let worker = try TestListener.echoing(Self.impatient)
        try await onThread {
            let silent = try worker.connect()
            let half = try worker.connect()
            try half.write(Array(FastCGIRequest(target: "/").bytes.dropLast(3)))
            #expect(try worker.ask("/good") == Self.good)
            #expect(half.waitForHangup() && silent.waitForHangup())
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `closes one that sends half a request after an answer, on a connection that is kept`()
        async throws
    {
        let worker = try TestListener.echoing(Self.impatient)
        try await onThread {
            let peer = try worker.connect()
            let request = FastCGIRequest(target: "/").bytes
            try peer.write(request)
            #expect(try peer.answers().count == 1)
            try peer.write(Array(request.dropLast(3)))
            #expect(peer.waitForHangup())
            #expect(try worker.ask("/good") == Self.good)
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `tells its values once before a request, and closes one that asks again`() async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            var asking = FastCGIRequest([])
            asking.id = 0
            let values = asking.record(9, [])
            let peer = try worker.connect()
            for _ in 0..<2 {
                try peer.write(values)
                #expect(try peer.read().dropFirst().first == 10)
                try peer.write(FastCGIRequest(target: "/").bytes)
                #expect(try peer.answers().count == 1)
            }
            try peer.write(values)
            #expect(try peer.read().dropFirst().first == 10)
            try peer.write(values)
            #expect(try peer.readToEnd() == [])
            #expect(try worker.ask("/good") == Self.good)
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `watches deadlines only while there is one`() async throws {
        let worker = try TestListener.echoing(Self.impatient)
        #expect(!worker.listener.watchesDeadlines)
        let peer = try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/").bytes)
            #expect(try peer.answers().count == 1)
            return peer
        }
        #expect(worker.listener.watchesDeadlines)
        while worker.listener.watchesDeadlines { try await LoopActor.sleep(for: .milliseconds(20)) }
        #expect(worker.connections == 1)
        try await onThread {
            try peer.write(Array(FastCGIRequest(target: "/").bytes.dropLast(3)))
            #expect(peer.waitForHangup())
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `closes one that does not read its answer, and delays nobody for it`() async throws {
        let worker = try TestListener(Self.impatient) { request, respond in
            let good = Response(status: 200, fields: ["X": "y"], body: Array("GET /good  - ".utf8))
            respond(
                request.path == "/good" ? good : Response(status: 200, body: [UInt8](repeating: 1, count: 1 << 20)))
        }
        try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/large").bytes)
            #expect(try worker.ask("/good") == Self.good)
            #expect(peer.waitForHangup())
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `gives a slow reader its large answer whole`() async throws {
        let body = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let worker = try TestListener { _, respond in respond(Response(status: 200, body: body)) }
        try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/").bytes + FastCGIRequest(target: "/").bytes)
            var reader = FastCGIResponseReader()
            while reader.answers.count < 2 { try reader.feed(peer.read(10_000)) }
            #expect(reader.answers.map { $0.body == body } == [true, true])
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `finishes an answer before it refuses what follows`() async throws {
        let body = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let worker = try TestListener { _, respond in respond(Response(status: 200, body: body)) }
        try await onThread {
            let peer = try worker.connect()
            let tooLarge = FastCGIRequest(method: "PUT", target: "/", body: [UInt8](repeating: 1, count: 65_537))
            try peer.write(FastCGIRequest(target: "/").bytes + tooLarge.bytes)
            var reader = FastCGIResponseReader()
            try reader.feed(peer.readToEnd())
            #expect(reader.answers.map { $0.body == body } == [true, false])
            #expect(reader.answers.last?.text == "Status: 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large")
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `stands a flood of questions, read or not`() async throws {
        let worker = try TestListener.echoing()
        try await onThread {
            var asking = FastCGIRequest([])
            asking.id = 0
            let flood = [[UInt8]](repeating: asking.record(9, []), count: 40_000).flatMap(\.self)
            let peer = try worker.connect()
            // Closed at the latest when nobody reads the answers.
            try? peer.write(flood)
            #expect(try worker.ask("/good") == Self.good)
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `goes on when one leaves before its answer`() async throws {
        let barrier = Barrier()
        let worker = try TestListener { request, respond in
            let good = Response(status: 200, fields: ["X": "y"], body: Array("GET /good  - ".utf8))
            guard request.path != "/good" else { return respond(good) }
            LoopActor.spawn {
                await barrier.wait()
                respond(good)
            }
        }
        try await onThread {
            for _ in 0..<3 {
                let peer = try worker.connect()
                try peer.write(FastCGIRequest(target: "/left").bytes)
                peer.close()
            }
        }
        await barrier.gathers(3)
        #expect(worker.listener.inFlight == 3)
        barrier.open()
        let answer = try await onThread { try worker.ask("/good") }
        #expect(answer == Self.good)
        await worker.listener.drain()
        #expect(worker.listener.inFlight == 0)
    }

    @Test @LoopActor func `keeps no more incomplete requests than all together may take`() async throws {
        var limits = FastCGIListener.Limits(bodyBytes: 65_536)
        limits.bufferedBytes = 1000
        let worker = try TestListener.echoing(limits)
        try await onThread {
            let request = FastCGIRequest(method: "PUT", target: "/", body: [UInt8](repeating: 1, count: 700)).bytes
            let first = try worker.connect()
            try first.write(Array(request[..<600]))
            #expect(try worker.ask("/good") == Self.good)
            let second = try worker.connect()
            try second.write(Array(request[..<600]))
            #expect(try second.readToEnd() == [])
            try first.write(Array(request[600...]))
            #expect(try first.answers().count == 1)
        }
        await worker.listener.drain()
    }

    @Test @LoopActor func `takes no more connections than it may`() async throws {
        var limits = FastCGIListener.Limits(bodyBytes: 65_536)
        limits.connections = 1
        let worker = try TestListener.echoing(limits)
        try await onThread {
            let first = try worker.connect()
            try first.write(FastCGIRequest(target: "/").bytes)
            #expect(try first.answers().count == 1)
            let second = try worker.connect()
            #expect(try second.readToEnd() == [])
            try first.write(FastCGIRequest(target: "/").bytes)
            #expect(try first.answers().count == 1)
        }
        await worker.listener.drain()
    }
}
