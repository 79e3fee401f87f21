import Loop
import Redis
@testable import Service
import Support
import Testing

/// The limiter on a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RateLimiterTests {
    private static let limits = Settings.Limits(
        renew: .init(quota: 3, window: .seconds(3600), whenRedisIsAway: .open),
        renewKeys: .init(quota: 150, window: .seconds(1800), whenRedisIsAway: .open),
        vend: .init(quota: 3, window: .seconds(3600), whenRedisIsAway: .closed),
        upload: .init(quota: 1, window: .milliseconds(50), whenRedisIsAway: .open),
        uploadBytes: .init(quota: 1000, window: .seconds(1800), whenRedisIsAway: .open),
        session: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed),
        notification: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed))

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
                    seen.append(await limiters[number % 2].take(.renewal(keys: 1), for: subject))
                }
                #expect(seen.map(\.verdict) == [.allowed, .allowed, .allowed, .refused])
                #expect(seen.map(\.requests.remaining) == [2, 1, 0, 0])
                #expect(seen.allSatisfy { $0.requests.reset > .seconds(3590) && $0.requests.reset <= .seconds(3600) })
                for subject in [bare, other] {
                    #expect(await limiters[0].take(.renewal(keys: 1), for: subject).requests.remaining == 2)
                }
                #expect(await limiters[0].take(.vend, for: one).requests.remaining == 2)
            }
            // Nothing of a user or device can be read in Redis, and nothing stays for ever.
            guard case .success(.array(let keys)) = await first.outcome("KEYS", "*") else { return }
            #expect(keys.count == 7)
            for case .text(let key) in keys {
                let name = String(decoding: key, as: UTF8.self)
                #expect(name.wholeMatch(of: /c:limit:(renewKeys:{c:limit:)?(renew|vend):[A-Za-z0-9_-]{24}}?/) != nil)
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
            for _ in 0..<4 { _ = await limiter.take(.renewal(keys: 1), for: subject) }
            _ = await redis.outcome("FLUSHALL")
            _ = await redis.outcome("SCRIPT", "FLUSH")
            #expect(await limiter.take(.renewal(keys: 1), for: subject).requests.remaining == 2)
            guard case .success(.array(let keys)) = await redis.outcome("KEYS", "c:limit:renew:*"),
                case .text(let key)? = keys.first
            else { return _ = Issue.record("no key") }
            let name = String(decoding: key, as: UTF8.self)
            #expect(await redis.outcome("PERSIST", name) == .success(.integer(1)))
            #expect(await limiter.take(.renewal(keys: 1), for: subject).requests.reset == .seconds(3600))
            // Redis' clock was set back by a day, or the window was a day when it began.
            #expect(await redis.outcome("PEXPIRE", name, "90000000") == .success(.integer(1)))
            #expect(await limiter.take(.renewal(keys: 0), for: subject).requests.reset <= .seconds(3600))
            guard case .success(.integer(let left)) = await redis.outcome("PTTL", name) else {
                return _ = Issue.record("no end")
            }
            #expect(left > 0 && left <= 3_600_000)
            #expect(await redis.outcome("SET", name, "no number") == .success(.status("OK")))
            #expect(await limiter.take(.renewal(keys: 1), for: subject).verdict == .open)
        }
    }

    @Test @LoopActor func `takes from both windows or from none, and lets each end by itself`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            var seen: [LimitDecision] = []
            for keys in [100, 51, 50, 1, 0, 0] {
                seen.append(await limiter.take(.renewal(keys: keys), for: subject))
            }
            #expect(seen.map(\.refusing) == [nil, .renewKeys, nil, .renewKeys, nil, .renew])
            #expect(seen.map(\.requests.remaining) == [2, 2, 1, 1, 0, 0])
            #expect(seen.map(\.volume?.remaining) == [50, 50, 0, 0, 0, 0])
            #expect(seen.allSatisfy { $0.volume?.reset ?? .zero > .seconds(1790) })
            #expect(seen[3].retryAfter <= .seconds(1800) && seen[5].retryAfter > .seconds(1800))
            // The keys' window ends first; the requests' goes on.
            guard case .success(.array(let names)) = await redis.outcome("KEYS", "c:limit:renewKeys:*"),
                case .text(let name)? = names.first
            else { return _ = Issue.record("no key") }
            #expect(await redis.outcome("DEL", String(decoding: name, as: UTF8.self)) == .success(.integer(1)))
            #expect(await limiter.take(.renewal(keys: 1), for: subject).refusing == .renew)
            let other = try self.subject("u_2")
            #expect(await limiter.take(.renewal(keys: 151), for: other).refusing == .renewKeys)
            #expect(await limiter.take(.renewal(keys: 150), for: other).verdict == .allowed)
        }
    }

    @Test @LoopActor func `counts on with what an older worker has counted`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            // An older worker counts requests alone, by INCR, and those that it refuses too.
            let key = "c:limit:renew:\(subject.party)"
            #expect(await redis.outcome("SET", key, "2", "PX", "5000") == .success(.status("OK")))
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            let decision = await limiter.take(.renewal(keys: 10), for: subject)
            #expect(decision.verdict == .allowed && decision.requests.remaining == 0)
            #expect(decision.requests.reset <= .seconds(5) && decision.volume?.remaining == 140)
            #expect(await redis.outcome("INCR", key) == .success(.integer(4)))
            let refused = await limiter.take(.renewal(keys: 10), for: subject)
            #expect(refused.refusing == .renew && refused.volume?.remaining == 140)
            #expect(await redis.outcome("GET", key) == .success(.text(Array("4".utf8))))
        }
    }

    @Test @LoopActor func `keeps all windows of a request in one slot of a cluster`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread {
            try RedisServer(
                path: folder["r.sock"],
                options: [
                    "--bind", "127.8.9.10", "--cluster-enabled", "yes", "--cluster-config-file", folder["nodes.conf"],
                ])
        }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            _ = try await redis.send(
                RedisCommand(["CLUSTER", "ADDSLOTS"] + (0..<16_384).map(String.init)))
            while await redis.outcome("GET", "x") != .success(.null) { await Task.yield() }
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            #expect(await limiter.take(.renewal(keys: 100), for: subject).verdict == .allowed)
            #expect(await limiter.take(.upload(bytes: 100), for: subject).volume?.remaining == 900)
        }
    }

    @Test @LoopActor func `begins a new window when one is over`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:", limits: Self.limits)
            #expect(await limiter.take(.upload(bytes: 0), for: subject).verdict == .allowed)
            var decision = await limiter.take(.upload(bytes: 0), for: subject)
            while decision.verdict == .refused {
                try await LoopActor.sleep(for: decision.requests.reset + .milliseconds(1))
                decision = await limiter.take(.upload(bytes: 0), for: subject)
            }
            #expect(decision.verdict == .allowed && decision.requests.remaining == 0)
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
                    == .closed)
            var verdicts: [LimitDecision.Verdict] = []
            for _ in 0..<4 { verdicts.append(await limiter.take(.renewal(keys: 1), for: subject).verdict) }
            #expect(verdicts == [.open, .open, .open, .openRefused])
            #expect(failures == [RedisError](repeating: .unavailable, count: 5))
            let next = try await onThread { try RedisServer(path: folder["r.sock"]) }
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(await limiter.take(.vend, for: subject).verdict == .allowed)
            withExtendedLifetime(next) {}
        }
    }
}
