import CloakroomAWS
import CloakroomWire
import Foundation
import CloakroomLoop
@testable import CloakroomServer
import CloakroomTestSupport
import Synchronization
import Testing

/// FAULTS row 8, through Renewer, S3 client and transport.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RenewalBatchTests {
    /// How many copies the server has at once, and the most it had.
    private final class Load: Sendable {
        private let state = Mutex((now: 0, most: 0))

        func begin() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func end() { state.withLock { $0.now -= 1 } }
        func takeMost() -> Int {
            state.withLock { state in
                defer { state.most = state.now }
                return state.most
            }
        }
    }

    @LoopActor private func renewer(
        _ upstreams: TestUpstreams, _ failure: Settings.Renewal.PartialFailure = .retry,
        queue: ObjectQueue? = nil
    ) throws -> Renewer {
        try upstreams.s3.renewer(
            failure, inFlight: 8, queue: queue, now: { Date(timeIntervalSince1970: 1_795_183_200) })
    }

    private static func keys(_ prefix: String, _ count: Int) -> [String] { (0..<count).map { "\(prefix)\($0).bin" } }

    @Test @LoopActor func `asks for fewer copies at once after SlowDown, and answers for every key`() async throws {
        let load = Load()
        let slowed = Mutex<Set<String>>([])
        let eight = Latch(8)
        let server = try HTTPServer { request in
            load.begin()
            defer { load.end() }
            let isFirst = slowed.withLock { $0.insert(request.target).inserted }
            // The first eight wait for each other: the cap lets that many in.
            if request.number < 8 {
                eight.open()
                eight.wait()
            }
            if isFirst, request.target.hasPrefix("/photos/slow") {
                return [.answer(503, UpstreamDocuments.s3Error("SlowDown"))]
            }
            return [.answer(200, UpstreamDocuments.copied)]
        }
        let copyLimiter = CopyConcurrencyLimiter(maximum: 8, metrics: try Metrics())
        let upstreams = try TestUpstreams(
            server: server, onAttempt: { attempt in LoopActor.assumeIsolated { copyLimiter.observe(attempt) } })
        let renewer = try renewer(upstreams, queue: ObjectQueue(copyLimiter))
        let until = Date(timeIntervalSince1970: 1_795_183_200 + 30 * 86_400)
        func renewed(_ keys: [String]) -> Renewer.Outcome {
            .results(keys.map { RenewResult(key: $0, renewedUntil: until) })
        }

        let slow = Self.keys("slow", 20)
        #expect(await renewer.renew(slow) == renewed(slow))
        #expect(load.takeMost() == 8)
        #expect(copyLimiter.current < 8)
        let good = Self.keys("good", 10)
        let allowed = copyLimiter.current
        #expect(await renewer.renew(good) == renewed(good))
        // Ten good answers allow two or three more.
        #expect(load.takeMost() <= allowed + 3 && copyLimiter.current > allowed)
    }

    @Test @LoopActor func `tells each key its own result, in the order asked for`() async throws {
        let server = try HTTPServer { request in
            switch request.target {
            case "/photos/gone.bin": [.answer(404, UpstreamDocuments.s3Error("NoSuchKey"))]
            case "/photos/cold.bin": [.answer(403, UpstreamDocuments.s3Error("InvalidObjectState"))]
            case "/photos/young.bin": [.answer(412, UpstreamDocuments.young)]
            case "/photos/locked.bin":
                [.answer(400, UpstreamDocuments.s3Error("InvalidRequest", "<Message>Server Side Encryption</Message>"))]
            case "/photos/slow.bin" where request.number < 100: [.answer(503, UpstreamDocuments.s3Error("SlowDown"))]
            default: [.answer(200, UpstreamDocuments.copied)]
            }
        }
        let upstreams = try TestUpstreams(server: server)
        let keys = ["gone.bin", "a.bin", "cold.bin", "../x", "young.bin", "locked.bin", "a.bin", "slow.bin"]
        let until = Date(timeIntervalSince1970: 1_795_183_200 + 30 * 86_400)
        #expect(
            await (try renewer(upstreams, .report)).renew(keys)
                == .results([
                    RenewResult(key: "gone.bin", failure: .notFound), RenewResult(key: "a.bin", renewedUntil: until),
                    RenewResult(key: "cold.bin", failure: .archived), RenewResult(key: "../x", failure: .invalidKey),
                    RenewResult(key: "young.bin", renewedUntil: nil),
                    RenewResult(key: "locked.bin", failure: .forbidden), RenewResult(key: "a.bin", renewedUntil: until),
                    RenewResult(key: "slow.bin", failure: .internalError),
                ]))
        #expect(server.requests.count { $0.target == "/photos/a.bin" } == 1)
        #expect(
            await (try renewer(upstreams)).renew(["a.bin", "slow.bin"])
                == .tryAgain(after: .seconds(5), code: "SlowDown"))
    }
}
