import CloakroomLoop
import CloakroomRedis
import Testing

@testable import CloakroomServer

/// When the workers look whether Redis does what requests need.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisHealthTests {
    /// A master that has become a replica: the link is given up with the first request on its way, and the next link is to it again.
    private final class DemotedRedis: RedisClient {
        var refusal: RedisError? { requests == 1 ? .refused(code: "READONLY") : nil }
        var isReady: Bool { refusal == nil }
        let pendingCount = 0
        let currentServers: [RedisAddress] = []
        var onRepeat: (@LoopActor () -> Void)?
        private var requests = 0

        func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
            requests += 1
            completion(.failure(requests == 1 ? .interrupted : .refused(code: "READONLY")))
        }

        func settle(within limit: Duration) async {}
        func close() {}
    }

    @Test @LoopActor func `a refusal is found also where the look at it was cut off`() async throws {
        let health = RedisHealth(
            redis: DemotedRedis(), selfTest: RedisSelfTest(try settings(smallest()), name: "w"),
            log: Log(sink: nil, level: .error))
        var found: RedisError?
        health.onRefusal = { found = $0 }
        health.failed(.refused(code: "READONLY"))
        let end = ContinuousClock.now + .seconds(10)
        while found == nil, .now < end { try await LoopActor.sleep(for: .milliseconds(10)) }
        #expect(found == .refused(code: "READONLY"))
    }
}
