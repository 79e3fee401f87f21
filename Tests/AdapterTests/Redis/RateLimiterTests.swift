import Loop
import Redis
@testable import Service
import Support
import Testing

/// The limiter on a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RateLimiterTests {
    private static let limits = Settings.Limits(
        renew: .init(requests: 3, window: .seconds(3600), whenRedisIsAway: .open),
        vend: .init(requests: 3, window: .seconds(3600), whenRedisIsAway: .closed),
        upload: .init(requests: 1, window: .milliseconds(50), whenRedisIsAway: .open),
        session: .init(requests: 2, window: .seconds(3600), whenRedisIsAway: .closed),
        notification: .init(requests: 2, window: .seconds(3600), whenRedisIsAway: .closed))

    private func subject(_ user: String, device: String? = nil) throws -> Subject {
        Subject(userID: try #require(UserID(user)), deviceID: device, tier: "free", issuer: "https://a.example")
    }

    @Test @LoopActor func `counts for all workers together, by device, else by user`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let (one, two) = (try subject("u_1", device: "phone"), try subject("u_2", device: "phone"))
        let (bare, other) = (try subject("u_1"), try subject("u_1", device: "tablet"))
        try await withRedis(server.path) { first in
            try await withRedis(server.path) { second in
                let limiters = [first, second].map { RateLimiter(redis: $0, keyPrefix: "c:", limits: Self.limits) }
                var seen: [LimitDecision] = []
                for (number, subject) in [one, two, one, one].enumerated() {
                    seen.append(await limiters[number % 2].take(.renew, for: subject))
                }
                #expect(seen.map(\.verdict) == [.allowed, .allowed, .allowed, .refused])
                #expect(seen.map(\.remaining) == [2, 1, 0, 0])
                #expect(seen.allSatisfy { $0.reset > .seconds(3590) && $0.reset <= .seconds(3600) })
                for subject in [bare, other] {
                    #expect(await limiters[0].take(.renew, for: subject).remaining == 2)
                }
                #expect(await limiters[0].take(.vend, for: one).remaining == 2)
            }
            // Nothing of a user or device can be read in Redis, and nothing stays for ever.
            guard case .success(.array(let keys)) = await first.outcome("KEYS", "*") else { return }
            #expect(keys.count == 4)
            for case .text(let key) in keys {
                let name = String(decoding: key, as: UTF8.self)
                #expect(name.wholeMatch(of: /c:limit:(renew|vend):[A-Za-z0-9_-]{24}/) != nil)
                guard case .success(.integer(let left)) = await first.outcome("PTTL", name) else { continue }
                #expect(left > 0)
            }
        }
    }

    @Test @LoopActor func `locks nobody out when Redis forgets, or when a key lost its end`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            for _ in 0..<4 { _ = await limiter.take(.renew, for: subject) }
            _ = await redis.outcome("FLUSHALL")
            _ = await redis.outcome("SCRIPT", "FLUSH")
            #expect(await limiter.take(.renew, for: subject).remaining == 2)
            guard case .success(.array(let keys)) = await redis.outcome("KEYS", "*"), case .text(let key)? = keys.first
            else { return _ = Issue.record("no key") }
            let name = String(decoding: key, as: UTF8.self)
            #expect(await redis.outcome("PERSIST", name) == .success(.integer(1)))
            #expect(await limiter.take(.renew, for: subject).reset == .seconds(3600))
            #expect(await redis.outcome("SET", name, "no number") == .success(.status("OK")))
            #expect(await limiter.take(.renew, for: subject).verdict == .open)
        }
    }

    @Test @LoopActor func `begins a new window when one is over`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            #expect(await limiter.take(.upload, for: subject).verdict == .allowed)
            var decision = await limiter.take(.upload, for: subject)
            while decision.verdict == .refused {
                try await LoopActor.sleep(for: decision.reset + .milliseconds(1))
                decision = await limiter.take(.upload, for: subject)
            }
            #expect(decision.verdict == .allowed && decision.remaining == 0)
        }
    }

    @Test @LoopActor func `goes on or stops without Redis, as each route is set`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            var failures: [RedisError] = []
            limiter.onRedisFailure = { failures.append($0) }
            #expect(await limiter.take(.vend, for: subject).verdict == .allowed)
            try await onThread { server.kill() }
            while redis.isReady { await Task.yield() }
            #expect(
                await limiter.take(.vend, for: subject)
                    == LimitDecision(verdict: .closed, remaining: 0, reset: .seconds(1)))
            var verdicts: [LimitDecision.Verdict] = []
            for _ in 0..<4 { verdicts.append(await limiter.take(.renew, for: subject).verdict) }
            #expect(verdicts == [.open, .open, .open, .openRefused])
            #expect(failures == [RedisError](repeating: .unavailable, count: 5))
            let next = try await onThread { try RedisServer(path: folder["r.sock"]) }
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(await limiter.take(.vend, for: subject).verdict == .allowed)
            withExtendedLifetime(next) {}
        }
    }
}
