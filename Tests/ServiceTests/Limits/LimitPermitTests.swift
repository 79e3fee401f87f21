import CloakroomLoop
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct LimitPermitTests {
    private static let count = "*4\r\n:59\r\n:3600000\r\n:59\r\n:3600000\r\n"

    /// Else each request during an outage would use up the window once more, and the alert would fire.
    @Test(arguments: [true, false])
    @LoopActor func `a window is used up by what is kept, not by what is given back`(isKept: Bool) async throws {
        let redis = FakeRedis([Self.count, Self.count, Self.count])
        let metrics = try Metrics()
        let user = try #require(UserID("u_1"))
        let permit = LimitPermit(
            .vend, Subject(userID: user, deviceID: nil, tier: nil, issuer: "https://a.example"),
            RateLimitPolicy(.vend, try settings(smallest()).limits), RateLimiter(redis: redis, keyPrefix: "c:"), metrics
        )
        for _ in 1...2 { #expect(await permit.isGranted()) }
        if isKept { permit.keep() }
        for _ in 1...2 { permit.giveBack() }
        let device = try #require(WindowLabel(.vend, isOfUser: false))
        #expect(metrics.row[metrics.layout.usedUp[device]] == (isKept ? 1 : 0))
        #expect(permit.limited?.decision.requests.remaining == (isKept ? 0 : 1))
        #expect(redis.requests.count == (isKept ? 1 : 2))
        #expect(await permit.isGranted())
        #expect(redis.requests.count == (isKept ? 1 : 3))
    }
}
