import CloakroomLoop
import Testing

@testable import CloakroomServer

/// Of a window, the request that makes half of it is counted, and the one that makes all of it.
@Suite(.onLoop)
struct WindowUseTests {
    @Test(arguments: [(1, 1), (2, 1), (3, 2), (60, 30)])
    @LoopActor func `half a window and a whole one are counted once each`(quota: Int, half: Int) throws {
        let terms = Self.terms(quota: quota, userQuota: 1000)
        let metrics = try Metrics()
        func counts() throws -> [UInt64] {
            let device = try #require(WindowLabel(.vend, isOfUser: false))
            return [metrics.layout.halfUsed[device], metrics.layout.usedUp[device]].map { metrics.row[$0] }
        }
        for used in 0..<quota {
            metrics.limited(.vend, Self.decision(used, by: terms), by: terms)
            #expect(try counts() == [used + 1 >= half ? 1 : 0, used + 1 == quota ? 1 : 0], "\(used)")
        }
        for _ in 0..<3 { metrics.limited(.vend, Self.decision(quota, by: terms), by: terms) }
        #expect(try counts() == [1, 1])
    }

    @Test @LoopActor func `the user's window has a series of its own`() throws {
        let terms = Self.terms(quota: 1000, userQuota: 4)
        let metrics = try Metrics()
        for used in 0..<4 { metrics.limited(.vend, Self.decision(used, by: terms), by: terms) }
        let user = try #require(WindowLabel(.vend, isOfUser: true))
        #expect(user.value == "vendUser" && metrics.row[metrics.layout.usedUp[user]] == 1)
        #expect(WindowLabel(.uploadBytes, isOfUser: true) == nil)
        #expect(WindowLabel.allCases.map(\.index) == Array(0..<WindowLabel.allCases.count))
    }

    @Test @LoopActor func `what is given up beyond a window does not use it up again`() throws {
        let terms = Self.terms(.upload, quota: 2, userQuota: 2)
        let metrics = try Metrics()
        for used in 0..<4 {
            metrics.limited(.uploadGivenUp, Self.decision(used, of: .uploadGivenUp, by: terms), by: terms)
        }
        for isOfUser in [false, true] {
            let window = try #require(WindowLabel(.upload, isOfUser: isOfUser))
            let counts = [metrics.layout.halfUsed[window], metrics.layout.usedUp[window]].map { metrics.row[$0] }
            #expect(counts == [1, 1])
        }
    }

    private static func terms(_ name: RateLimitName = .vend, quota: Int, userQuota: Int) -> RateLimitPolicy {
        let limit = Settings.Limit(quota: quota, userQuota: userQuota, window: .seconds(1), whenRedisIsAway: .open)
        return RateLimitPolicy(
            name,
            Settings.Limits(
                renew: limit, renewKeys: limit, release: limit, releaseKeys: limit, vend: limit, upload: limit,
                uploadBytes: limit, session: limit, notification: limit))
    }

    private static func decision(
        _ used: Int, of cost: RateLimitCost = .vend, by terms: RateLimitPolicy
    ) -> RateLimitDecision {
        let pair = RateLimitCount.Pair(requests: .init(used: used, left: .zero), quantity: nil)
        return RateLimitDecision(cost, RateLimitCount(device: pair, user: pair), by: terms)
    }
}
