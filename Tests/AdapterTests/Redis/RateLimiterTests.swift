import CloakroomLoop
import CloakroomRedis
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

/// The limiter on a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RateLimiterTests {
    fileprivate static let limits = Settings.Limits(
        renew: .init(quota: 3, window: .seconds(3600), whenRedisIsAway: .open),
        renewKeys: .init(quota: 150, window: .seconds(1800), whenRedisIsAway: .open),
        release: .init(quota: 4, window: .seconds(3600), whenRedisIsAway: .open),
        releaseKeys: .init(quota: 250, window: .seconds(1800), whenRedisIsAway: .open),
        vend: .init(quota: 3, window: .seconds(3600), whenRedisIsAway: .closed),
        upload: .init(quota: 1, window: .milliseconds(50), whenRedisIsAway: .open),
        uploadBytes: .init(quota: 1000, window: .seconds(1800), whenRedisIsAway: .open),
        session: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed),
        notification: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed))

    private func subject(_ user: String, device: String? = nil, isProven: Bool = false) throws -> Subject {
        Subject(
            userID: try #require(UserID(user)), deviceID: device, tier: "free", issuer: "https://a.example",
            isDeviceVouchedFor: isProven)
    }

    @Test @LoopActor func `counts for all workers together, by device and by user`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let one = try subject("u_1", device: "phone", isProven: true)
        let two = try subject("u_2", device: "phone", isProven: true)
        let (bare, other) = (try subject("u_1"), try subject("u_1", device: "tablet"))
        try await withRedis(server.path) { first in
            try await withRedis(server.path) { second in
                let limiters = [first, second].map { RateLimiter(redis: $0, keyPrefix: "c:") }
                var seen: [RateLimitDecision] = []
                for (number, subject) in [one, two, one, one].enumerated() {
                    seen.append(await limiters[number % 2].count(.renewal(keys: 1), for: subject))
                }
                #expect(seen.map(\.verdict) == [.allowed, .allowed, .allowed, .refused])
                #expect(seen.map(\.requests.remaining) == [2, 1, 0, 0])
                #expect(seen.allSatisfy { $0.requests.left > .seconds(3590) && $0.requests.left <= .seconds(3600) })
                // What was refused on this connection is given back by now.
                _ = await second.outcome("PING")
                for (subject, left) in [(bare, 9), (other, 8)] {
                    let decision = await limiters[0].count(.renewal(keys: 1), for: subject)
                    #expect(decision.requests.remaining == 2 && decision.userRequests.remaining == left)
                }
                #expect(await limiters[0].count(.vend, for: one).requests.remaining == 2)
            }
            // Nothing of a user or device can be read in Redis, and nothing stays for ever.
            guard case .success(.array(let keys)) = await first.outcome("KEYS", "*") else {
                return _ = Issue.record("no keys")
            }
            #expect(keys.count == 12)
            for case .text(let key) in keys {
                let name = String(decoding: key, as: UTF8.self)
                let pattern = /c:limit:(renew|renewKeys|vend):\{[A-Za-z0-9_-]{24}\}(:[A-Za-z0-9_-]{24}|:none)?/
                #expect(name.wholeMatch(of: pattern) != nil, "\(name)")
                guard case .success(.integer(let left)) = await first.outcome("PTTL", name) else {
                    Issue.record("no PTTL of \(name)")
                    continue
                }
                #expect(left > 0)
            }
        }
    }

    @Test @LoopActor func `locks nobody out when Redis forgets, or when a key lost its end`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            for _ in 0..<4 { _ = await limiter.count(.renewal(keys: 1), for: subject) }
            _ = await redis.outcome("FLUSHALL")
            _ = await redis.outcome("SCRIPT", "FLUSH")
            #expect(await limiter.count(.renewal(keys: 1), for: subject).requests.remaining == 2)
            guard case .success(.array(let keys)) = await redis.outcome("KEYS", "c:limit:renew:*:none"),
                case .text(let key)? = keys.first
            else { return _ = Issue.record("no key") }
            let name = String(decoding: key, as: UTF8.self)
            #expect(await redis.outcome("PERSIST", name) == .success(.integer(1)))
            #expect(await limiter.count(.renewal(keys: 1), for: subject).requests.left == .seconds(3600))
            // Redis' clock was set back by a day, or the window was a day when it began.
            #expect(await redis.outcome("PEXPIRE", name, "90000000") == .success(.integer(1)))
            #expect(await limiter.count(.renewal(keys: 0), for: subject).requests.left <= .seconds(3600))
            guard case .success(.integer(let left)) = await redis.outcome("PTTL", name) else {
                return _ = Issue.record("no end")
            }
            #expect(left > 0 && left <= 3_600_000)
            #expect(await redis.outcome("SET", name, "no number") == .success(.status("OK")))
            #expect(await limiter.count(.renewal(keys: 1), for: subject).verdict == .open)
        }
    }

    @Test @LoopActor func `takes from both windows or from none, and lets each end by itself`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            var seen: [RateLimitDecision] = []
            for keys in [100, 51, 50, 1, 0, 0] {
                seen.append(await limiter.count(.renewal(keys: keys), for: subject))
            }
            #expect(seen.map(\.refusing) == [nil, .renewKeys, nil, .renewKeys, nil, .renew])
            #expect(seen.map(\.requests.remaining) == [2, 2, 1, 1, 0, 0])
            #expect(seen.map(\.quantity?.remaining) == [50, 50, 0, 0, 0, 0])
            #expect(seen.allSatisfy { $0.quantity?.left ?? .zero > .seconds(1790) })
            #expect(seen[3].wait <= .seconds(1800) && seen[5].wait > .seconds(1800))
            // The keys' window ends first; the requests' goes on.
            guard case .success(.array(let names)) = await redis.outcome("KEYS", "c:limit:renewKeys:*:none"),
                case .text(let name)? = names.first
            else { return _ = Issue.record("no key") }
            #expect(await redis.outcome("DEL", String(decoding: name, as: UTF8.self)) == .success(.integer(1)))
            #expect(await limiter.count(.renewal(keys: 1), for: subject).refusing == .renew)
            let other = try self.subject("u_2")
            #expect(await limiter.count(.renewal(keys: 151), for: other).refusing == .renewKeys)
            #expect(await limiter.count(.renewal(keys: 150), for: other).verdict == .allowed)
        }
    }

    @Test @LoopActor func `all devices of a user share a window, whatever they call themselves`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            var seen: [RateLimitDecision] = []
            for number in 0..<13 {
                seen.append(await limiter.count(.vend, for: try subject("u_1", device: "device \(number)")))
            }
            #expect(seen.map(\.verdict) == Array(repeating: .allowed, count: 12) + [.refused])
            #expect(seen[12].refusing == .vend && seen[12].refusesUser && seen[12].requests.remaining == 3)
            #expect(seen.map(\.userRequests.remaining) == Array((0..<12).reversed()) + [0])
            // What the user's window refuses takes nothing from the device's.
            #expect(await limiter.count(.vend, for: try subject("u_1", device: "device 12")).requests.remaining == 3)
            for number in 0..<4 {
                let device = try subject("u_1", device: "device \(number)")
                #expect(await limiter.count(.renewal(keys: 150), for: device).verdict == .allowed)
            }
            let fifth = try subject("u_1", device: "fifth")
            for _ in 0..<2 {
                let refused = await limiter.count(.renewal(keys: 1), for: fifth)
                #expect(refused.refusing == .renewKeys && refused.refusesUser && refused.quantity?.remaining == 150)
                #expect(refused.requests.remaining == 3 && refused.userRequests.remaining == 8)
            }
            // Another user of one of these devices has windows of their own.
            let other = await limiter.count(.vend, for: try subject("u_2", device: "device 1"))
            #expect(other.requests.remaining == 2 && other.userRequests.remaining == 11)
        }
    }

    @Test @LoopActor func `a refusal charges neither the user nor a device that its issuer proves`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            func count(_ user: String, _ device: String) async throws -> RateLimitDecision {
                await limiter.count(.vend, for: try subject(user, device: device, isProven: true))
            }
            for _ in 0..<3 { #expect(try await count("u_1", "shared").verdict == .allowed) }
            for _ in 0..<3 {
                let refused = try await count("u_2", "shared")
                #expect(refused.verdict == .refused && !refused.refusesUser && refused.userRequests.remaining == 12)
            }
            #expect(try await count("u_2", "own").userRequests.remaining == 11)
            for number in 0..<11 { #expect(try await count("u_2", "own \(number)").verdict == .allowed) }
            for _ in 0..<3 {
                let refused = try await count("u_2", "new")
                #expect(refused.verdict == .refused && refused.refusesUser && refused.requests.remaining == 3)
            }
            #expect(try await count("u_3", "new").requests.remaining == 2)
            // The same where what all devices have renewed together refuses.
            func renew(_ keys: Int, _ device: String) async throws -> RateLimitDecision {
                await limiter.count(.renewal(keys: keys), for: try subject("u_4", device: device, isProven: true))
            }
            for number in 0..<4 { #expect(try await renew(150, "own \(number)").verdict == .allowed) }
            let refused = try await renew(1, "fifth")
            #expect(refused.refusing == .renewKeys && refused.refusesUser)
            let last = try await renew(0, "fifth")
            #expect(last.requests.remaining == 2 && last.userRequests.remaining == 7)
            #expect(last.quantity?.remaining == 150 && last.userQuantity?.remaining == 0)
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
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            #expect(await limiter.count(.renewal(keys: 100), for: subject).verdict == .allowed)
            #expect(await limiter.count(.upload(bytes: 100), for: subject).quantity?.remaining == 900)
            let proven = try self.subject("u_1", device: "phone", isProven: true)
            #expect(await limiter.count(.renewal(keys: 100), for: proven).verdict == .allowed)
        }
    }

    @Test(arguments: [false, true])
    @LoopActor func `gives back the keys of a request alone, to the user and to the device`(isProven: Bool) async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1", device: "phone", isProven: isProven)
        let (cost, terms) = (RateLimitCost.renewal(keys: 100), RateLimitPolicy(.renew, Self.limits))
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            for left in [2, 1, 0] {
                let decision = await limiter.count(cost, for: subject, by: terms)
                #expect(decision.verdict == .allowed && decision.requests.remaining == left)
                #expect(decision.quantity?.remaining == 50 && decision.userQuantity?.remaining == 500)
                limiter.refund(.quantity, of: cost, for: subject, decision, by: terms)
            }
            #expect(await limiter.count(cost, for: subject, by: terms).refusing == .renew)
        }
    }

    @Test @LoopActor func `lets in what is given up beyond a window, as many again`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        var limits = Self.limits
        limits.upload.window = .seconds(3600)
        let terms = RateLimitPolicy(.upload, limits)
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            var verdicts: [RateLimitDecision.Verdict] = []
            for cost in [RateLimitCost.upload(bytes: 0), .upload(bytes: 0), .uploadGivenUp, .uploadGivenUp] {
                verdicts.append(await limiter.count(cost, for: subject, by: terms).verdict)
            }
            #expect(verdicts == [.allowed, .refused, .allowed, .refused])
        }
    }

    @Test @LoopActor func `begins a new window when one is over`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            #expect(await limiter.count(.upload(bytes: 0), for: subject).verdict == .allowed)
            var decision = await limiter.count(.upload(bytes: 0), for: subject)
            while decision.verdict == .refused {
                try await LoopActor.sleep(for: .milliseconds(50))
                decision = await limiter.count(.upload(bytes: 0), for: subject)
            }
            #expect(decision.verdict == .allowed && decision.requests.remaining == 0)
        }
    }

    @Test @LoopActor func `goes on or stops without Redis, as each route is set`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let subject = try subject("u_1")
        try await withRedis(server.path) { redis in
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            var failures: [RedisError] = []
            limiter.onRedisFailure = { failures.append($0) }
            #expect(await limiter.count(.vend, for: subject).verdict == .allowed)
            try await onThread { server.kill() }
            while redis.isReady { await Task.yield() }
            #expect(
                await limiter.count(.vend, for: subject)
                    == .closed)
            var verdicts: [RateLimitDecision.Verdict] = []
            for _ in 0..<4 { verdicts.append(await limiter.count(.renewal(keys: 1), for: subject).verdict) }
            #expect(verdicts == [.open, .open, .open, .openRefused])
            #expect(failures == [RedisError](repeating: .unavailable, count: 5))
            // A user's devices are counted together here, too.
            verdicts = []
            for number in 0..<13 {
                let device = try self.subject("u_2", device: "device \(number)")
                verdicts.append(await limiter.count(.renewal(keys: 1), for: device).verdict)
            }
            #expect(verdicts == Array(repeating: .open, count: 12) + [.openRefused])
            let next = try await onThread { try RedisServer(path: folder["r.sock"]) }
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(await limiter.count(.vend, for: subject).verdict == .allowed)
            withExtendedLifetime(next) {}
        }
    }
}

extension RateLimiter {
    /// Counts by the limits of everybody, as of a tier without numbers of its own.
    fileprivate func count(_ cost: RateLimitCost, for subject: Subject) async -> RateLimitDecision {
        await count(cost, for: subject, by: RateLimitPolicy(cost.name, RateLimiterTests.limits))
    }
}

extension Milliseconds {
    fileprivate static func seconds(_ count: Int) -> Milliseconds { .milliseconds(count * 1000) }
}
