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
        var found: [RedisError] = []
        health.onFailure = { found.append($0) }
        health.failed(.refused(code: "READONLY"))
        let end = ContinuousClock.now + .seconds(10)
        while found.count < 2, .now < end { try await LoopActor.sleep(for: .milliseconds(10)) }
        // Refusals are looked at twice a second, and told once in fifteen.
        try await LoopActor.sleep(for: .milliseconds(1200))
        #expect(found == [.interrupted, .refused(code: "READONLY")])
    }

    @Test @LoopActor func `a look without a connection is told once, and what requests meet is not`() async throws {
        let health = RedisHealth(
            redis: UnreachableRedis(), selfTest: RedisSelfTest(try settings(smallest()), name: "w"),
            log: Log(sink: nil, level: .error))
        var found: [RedisError] = []
        health.onFailure = { found.append($0) }
        let watching = LoopActor.spawn { await health.watch() }
        let end = ContinuousClock.now + .seconds(10)
        while found.isEmpty, .now < end { try await LoopActor.sleep(for: .milliseconds(10)) }
        health.failed(.unavailable)
        // Longer than between looks at a refusal.
        try await LoopActor.sleep(for: .milliseconds(700))
        watching.cancel()
        await watching.value
        #expect(found == [.unavailable])
    }
}
