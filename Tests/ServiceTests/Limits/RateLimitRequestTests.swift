import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop) struct RateLimitRequestTests {
    /// Otherwise many accounts on one device would have each search go past all of them.
    @Test func `users of one device are spread over a table`() throws {
        let hashes = try (0..<1000).map { number in
            let user = try #require(UserID("u_\(number)"))
            let subject = Subject(userID: user, deviceID: "one for all", tier: nil, issuer: "https://a.example")
            return RateLimitRequest.Client(.vend, subject).hashValue
        }
        #expect(Set(hashes).count == hashes.count)
    }

    /// Otherwise its next refusal is by the terms of its token, and takes a second round trip to put right.
    @Test @LoopActor func `a client that goes on sending keeps the terms of its record, however many others come`()
        throws
    {
        let limit = Settings.Limit(quota: 2, window: .seconds(3600), whenRedisIsAway: .open)
        let limits = Settings.Limits(
            renew: limit, renewKeys: limit, release: limit, releaseKeys: limit, vend: limit, upload: limit,
            uploadBytes: limit, session: limit,
            notification: limit)
        let limiter = RateLimiter(redis: UnreachableRedis(), keyPrefix: "c:")
        let common = RateLimitPolicy(.vend, limits)
        func request(_ user: String) throws -> RateLimitRequest {
            let subject = Subject(
                userID: try #require(UserID(user)), deviceID: nil, tier: nil, issuer: "https://a.example")
            return limiter.request(.vend, subject, expecting: common, readsRecord: true)
        }
        let own = RateLimitPolicy(.vend, limits, quota: .init(5))
        limiter.remember(own, of: try request("u_1"))
        for number in 2...6000 {
            _ = try request("u_\(number)")
            if number.isMultiple(of: 1000) { #expect(try request("u_1").terms === own) }
        }
    }

    @Test @LoopActor func `a request counts by the terms that come with it, whatever those of the last one were`()
        async throws
    {
        let limit = Settings.Limit(quota: 2, window: .seconds(3600), whenRedisIsAway: .open)
        let limits = Settings.Limits(
            renew: limit, renewKeys: limit, release: limit, releaseKeys: limit, vend: limit, upload: limit,
            uploadBytes: limit, session: limit, notification: limit)
        let limiter = RateLimiter(redis: UnreachableRedis(), keyPrefix: "c:")
        let subject = Subject(
            userID: try #require(UserID("u_1")), deviceID: nil, tier: nil, issuer: "https://a.example")
        var allowed: [Bool] = []
        for quota in [1, 1, 3, 3, 1] {
            let terms = RateLimitPolicy(.vend, limits, quota: .init(quota))
            allowed.append(await limiter.count(.vend, for: subject, by: terms).isAllowed)
        }
        #expect(allowed == [true, false, true, true, false])
    }
}
