import CloakroomFastCGI
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Glibc
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct DrainTests {
    @Test @LoopActor func `closes what is idle and listens no more`() async throws {
        let worker = try TestListener.echoing()
        let peer = try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/").bytes)
            _ = try peer.answers()
            return peer
        }
        await worker.listener.drain()
        #expect(worker.listener.isDraining)
        try await onThread {
            let rest = try peer.readToEnd()
            #expect(rest == [])
            #expect(throws: Peer.ConnectionError.self) { try worker.connect() }
        }
    }

    @Test @LoopActor func `answers what it has taken, then closes`() async throws {
        let barrier = Barrier()
        let worker = try TestListener { request, respond in
            LoopActor.spawn {
                await barrier.wait()
                respond(Response(status: 200, body: Array(request.path.utf8)))
            }
        }
        let peers = try await onThread {
            try (0..<3).map { number in
                let peer = try worker.connect()
                try peer.write(FastCGIRequest(target: "/\(number)").bytes)
                return peer
            }
        }
        await barrier.gathers(3)
        let drained = LoopActor.spawn { await worker.listener.drain() }
        while !worker.listener.isDraining { await Task.yield() }
        #expect(worker.listener.inFlight == 3)
        barrier.open()
        await drained.value
        try await onThread {
            for (number, peer) in peers.enumerated() {
                var reader = FastCGIResponseReader()
                try reader.feed(peer.readToEnd())
                #expect(reader.answers.map(\.body) == [Array("/\(number)".utf8)])
            }
        }
    }

    @Test @LoopActor func `takes what waits in the backlog`() async throws {
        let worker = try TestListener.echoing()
        // The loop is busy here, so nothing is accepted before it drains.
        let peers = try (0..<20).map { number in
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/\(number)").bytes)
            return peer
        }
        await worker.listener.drain()
        try await onThread {
            for (number, peer) in peers.enumerated() {
                var reader = FastCGIResponseReader()
                try reader.feed(peer.readToEnd())
                #expect(reader.answers.map(\.body) == [Array("GET /\(number)  - ".utf8)])
            }
        }
    }

    /// Connects so many peers at once, each with a request, and expects one response to each.
    @LoopActor private func expectAnswers(to count: Int, of worker: TestListener) async throws {
        let peers = try (0..<count).map { _ in
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/").bytes)
            return peer
        }
        let answers = try await onThread { try peers.map { try $0.answers().count } }
        #expect(answers == peers.map { _ in 1 })
    }

    /// Reading takes longer than accepting: meanwhile the backlog of a crowd would overflow.
    @Test @LoopActor func `takes a crowd out of the backlog before it reads what most of them send`() async throws {
        let crowd = Crowd()
        let worker = try TestListener { _, respond in
            crowd.noteRequest()
            respond(Response(status: 200))
        }
        crowd.worker = worker
        try await expectAnswers(to: 200, of: worker)
        #expect(crowd.connections.count == 200 && crowd.connections[16...].allSatisfy { $0 == 200 })
    }

    /// As when the process was stopped, or has a tenth of a core.
    @Test @LoopActor func `ends no request that came in time because it was not read in time`() async throws {
        var limits = FastCGIListener.Limits(bodyBytes: 65_536)
        limits.requestTimeout = .milliseconds(500)
        var requests = 0
        let worker = try TestListener(limits) { _, respond in
            requests += 1
            // All are accepted: past their deadline, and past the next look at deadlines.
            if requests == 17 { usleep(1_600_000) }
            respond(Response(status: 200))
        }
        // More than a turn reads.
        try await expectAnswers(to: 400, of: worker)
    }

    @Test @LoopActor func `lets a slow reader finish`() async throws {
        let body = [UInt8](repeating: 7, count: 1 << 20)
        let worker = try TestListener { _, respond in respond(Response(status: 200, body: body)) }
        let (peer, start) = try await onThread {
            let peer = try worker.connect()
            try peer.write(FastCGIRequest(target: "/").bytes)
            return (peer, try peer.read(100))
        }
        let drained = LoopActor.spawn { await worker.listener.drain() }
        while !worker.listener.isDraining { await Task.yield() }
        let answers = try await onThread {
            var reader = FastCGIResponseReader()
            try reader.feed(start + peer.readToEnd())
            return reader.answers
        }
        #expect(answers.map { $0.body == body } == [true])
        await drained.value
    }
}

/// How many connections a listener has at each request.
@LoopActor
private final class Crowd {
    weak var worker: TestListener?
    private(set) var connections: [Int] = []

    func noteRequest() { connections.append(worker?.connections ?? 0) }
}
