import AWS
import CloakroomCrypto
import Foundation
import Loop
import Redis
import Support
import Synchronization
import Testing

@testable import Service

/// Two workers and more, one Redis: FAULTS rows 1 and 22.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct SharedCredentialCacheTests {
    /// An STS that numbers what it gives.
    private final class Counting: Sendable {
        let calls = Mutex(0)
        var count: Int { calls.withLock { $0 } }
        func next() -> Int {
            calls.withLock { calls in
                calls += 1
                return calls
            }
        }
    }

    private final class Clock: Sendable {
        private let instant = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        var now: Date { instant.withLock { $0 } }
        func pass(_ seconds: Double) { instant.withLock { $0 += seconds } }
    }

    private struct World: Sendable {
        let sts = Counting()
        let clock = Clock()
        /// How long STS takes.
        var delay: Duration = .zero
        var failure: STSError?
    }

    @LoopActor private func cache(
        _ redis: RedisConnection, _ world: World, keys: [String] = ["one"], deadline: Duration = .seconds(3)
    ) -> SharedCredentialCache {
        SharedCredentialCache(
            redis: redis, keyPrefix: "c:", keys: keys.map { SealingKey(from: Array($0.utf8), purpose: "test") },
            requestDeadline: deadline, now: { world.clock.now }, jitter: { 0 })
    }

    private func place(_ user: String = "u_1", _ name: String = "role\nfree\n3600000") -> CredentialPlace {
        guard let user = UserID(user) else { preconditionFailure("a safe id") }
        return CredentialPlace(user: user, name: name)
    }

    private func vended(_ world: World, lifetime: Double = 3600) -> VendedCredentials {
        let number = world.sts.next()
        let role = AssumedRole(
            accessKeyID: "ASIA\(number)", secretAccessKey: Secret("s3cr3t"), sessionToken: Secret("t0k3n"),
            expiration: world.clock.now.addingTimeInterval(lifetime))
        return VendedCredentials(
            role: role, sessionName: "s\(number)", issued: world.clock.now, scope: "full", scopeDigest: "d", jitter: 0)
    }

    /// - Returns: the access key or the failure, and where it came from.
    @LoopActor private func ask(
        _ cache: SharedCredentialCache, _ world: World, at place: CredentialPlace? = nil,
        previous: VendedCredentials? = nil, revokedBefore: Date? = nil
    ) async -> String {
        let (result, outcome) = await cache.credentials(
            at: place ?? self.place(), previous: previous, revokedBefore: revokedBefore
        ) {
            if world.delay > .zero { try? await LoopActor.sleep(for: world.delay) }
            if let failure = world.failure { return .failure(failure) }
            return .success(vended(world))
        }
        switch result {
        case .success(let vended): return "\(vended.role.credentials.accessKeyID) \(outcome)"
        case .failure(let error): return "\(error) \(outcome)"
        }
    }

    @LoopActor private func withWorkers(
        timeout: Duration = .seconds(5),
        _ body: @LoopActor (RedisConnection, RedisConnection, RedisServer) async -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path, timeout: timeout) { one in
            try await withRedis(server.path, timeout: timeout) { two in
                #expect(await one.becomesReady(within: .seconds(5)))
                #expect(await two.becomesReady(within: .seconds(5)))
                await body(one, two, server)
            }
        }
    }

    @Test @LoopActor func `gives one worker what another has vended, sealed meanwhile`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            #expect(await ask(cache(one, world), world) == "ASIA1 miss")
            let (result, outcome) = await cache(two, world).credentials(
                at: place(), previous: nil, revokedBefore: nil
            ) { .failure(.cancelled) }
            guard case .success(let shared) = result else {
                Issue.record("nothing shared")
                return
            }
            #expect(outcome == .shared)
            #expect(shared.role.credentials.secretAccessKey.reveal() == "s3cr3t")
            #expect(shared.role.credentials.sessionToken?.reveal() == "t0k3n")
            #expect(shared.role.expiration == world.clock.now.addingTimeInterval(3600))
            #expect(shared.issued == world.clock.now && shared.sessionName == "s1")
            #expect(shared.scope == "full" && shared.scopeDigest == "d")
            guard case .success(.array(let keys)) = await one.outcome("KEYS", "*"), keys.count == 1,
                case .text(let key) = keys[0]
            else {
                Issue.record("not one key: the lock must be gone")
                return
            }
            let name = String(decoding: key, as: UTF8.self)
            #expect(name.hasPrefix("c:cred:{u_1}:"))
            guard case .success(.text(let entry)) = await one.outcome("GET", name),
                case .success(.integer(let left)) = await one.outcome("PTTL", name)
            else {
                Issue.record("no entry")
                return
            }
            for secret in ["ASIA", "s3cr3t", "t0k3n", "u_1"] {
                #expect(!String(decoding: entry, as: UTF8.self).contains(secret))
            }
            #expect((3_500_000...3_600_000).contains(left))
        }
    }

    /// The place has the scope, or a device with `read` would be handed what another with `full` left there.
    @Test @LoopActor func `shares nothing between scopes, tiers and lifetimes`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            let template = PolicyTemplate(bucket: "photos", partition: "aws")
            guard let scopes = try? Scopes(template, prefixes: ["photos"], templates: []), let full = scopes["full"],
                let read = scopes["read"], let user = UserID("u_1")
            else {
                Issue.record("no scopes")
                return
            }
            let grants = [
                Grant(scope: full, lifetime: .seconds(3600), tier: "free"),
                Grant(scope: read, lifetime: .seconds(3600), tier: "free"),
                Grant(scope: read, lifetime: .seconds(3600), tier: "pro"),
                Grant(scope: read, lifetime: .seconds(900), tier: "pro"),
            ]
            for (redis, outcome) in [(one, "miss"), (two, "shared")] {
                for (index, grant) in grants.enumerated() {
                    let place = CredentialPlace(user: user, role: "arn:aws:iam::000000000000:role/r", grant: grant)
                    #expect(await ask(cache(redis, world), world, at: place) == "ASIA\(index + 1) \(outcome)")
                }
            }
            let other = CredentialPlace(user: user, role: "arn:aws:iam::000000000000:role/other", grant: grants[0])
            #expect(await ask(cache(two, world), world, at: other) == "ASIA5 miss")
        }
    }

    /// STS may take so long to fail that what was held has ended meanwhile.
    @Test @LoopActor func `hands out no stand-in that is about to end when STS has failed`() async throws {
        try await withWorkers { one, _, _ in
            for (wait, expected) in [(1739.0, "ASIA1 previous"), (1740, "none miss")] {
                let world = World()
                let previous = vended(world)
                world.clock.pass(1800)
                let (result, outcome) = await cache(one, world).credentials(
                    at: place("u_\(Int(wait))"), previous: previous, revokedBefore: nil
                ) {
                    world.clock.pass(wait)
                    return .failure(.unavailable(retryAfter: nil, code: "ServiceUnavailable"))
                }
                let key = (try? result.get())?.role.credentials.accessKeyID
                #expect("\(key ?? "none") \(outcome)" == expected)
            }
        }
    }

    @Test @LoopActor func `asks STS once for a hundred subjects of four workers that come together`() async throws {
        try await withWorkers { one, two, _ in
            let world = World(delay: .milliseconds(50))
            var tasks: [Task<String, Never>] = []
            for redis in [one, two, one, two] {
                let cache = cache(redis, world)
                for user in 0..<100 {
                    let place = place("u_\(user)")
                    tasks.append(LoopActor.spawn { await ask(cache, world, at: place) })
                }
            }
            var outcomes: [String: Int] = [:]
            for task in tasks { outcomes[String(await task.value.split(separator: " ")[1]), default: 0] += 1 }
            #expect(outcomes == ["miss": 100, "shared": 300])
            #expect(world.sts.count == 100)
        }
    }

    @Test @LoopActor func `tells users and scopes apart`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            let (first, second) = (cache(one, world), cache(two, world))
            for (user, name) in [("u_1", "a"), ("u_10", "a"), ("u_1", "b")] {
                let place = place(user, name)
                #expect(await ask(first, world, at: place).hasSuffix("miss"))
                #expect(await ask(second, world, at: place).hasSuffix("shared"))
            }
        }
    }

    @Test @LoopActor func `goes on when the worker that asks STS dies`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            // Its lock is all that a dead worker leaves.
            let key = place().key(prefix: "c:")
            let second = cache(two, world, deadline: .milliseconds(900))
            #expect(
                await one.outcome("SET", key + ":lock", "dead", "PX", "\(second.lockLifetime.milliseconds)")
                    == .success(.status("OK")))
            let start = ContinuousClock.now
            #expect(await ask(second, world) == "ASIA1 miss")
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            #expect(ContinuousClock.now - start < .milliseconds(450 + 400))
            #expect(await one.outcome("EXISTS", key + ":lock") == .success(.integer(0)))
        }
    }

    @Test @LoopActor func `waits for no more than half of a request's time`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            let key = place().key(prefix: "c:")
            _ = await one.outcome("SET", key + ":lock", "stuck")
            let start = ContinuousClock.now
            #expect(await ask(cache(two, world, deadline: .milliseconds(600)), world) == "ASIA1 miss")
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            // Another's lock is left alone.
            #expect(await one.outcome("GET", key + ":lock") == .success(.text(Array("stuck".utf8))))
        }
    }

    @Test @LoopActor func `hands out the previous ones while another worker gets new ones`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            let previous = vended(world)
            _ = await one.outcome("SET", place().key(prefix: "c:") + ":lock", "another")
            world.clock.pass(1900)
            #expect(await ask(cache(two, world), world, previous: previous) == "ASIA1 previous")
            #expect(world.sts.count == 1)
        }
    }

    @Test @LoopActor func `gets new ones at half of the lifetime, and hands out the old while STS is away`()
        async throws
    {
        try await withWorkers { one, two, _ in
            let world = World()
            var down = world
            down.failure = .unavailable(retryAfter: nil, code: "Away")
            #expect(await ask(cache(one, world), world) == "ASIA1 miss")
            world.clock.pass(1799)
            #expect(await ask(cache(two, world), world) == "ASIA1 shared")
            world.clock.pass(1)
            #expect(await ask(cache(two, down), down) == "ASIA1 previous")
            #expect(await ask(cache(two, world), world) == "ASIA2 miss")
            #expect(await ask(cache(one, world), world) == "ASIA2 shared")
            world.clock.pass(3541)
            #expect(await ask(cache(two, down), down) == "\(STSError.unavailable(retryAfter: nil, code: "Away")) miss")
        }
    }

    @Test @LoopActor func `lets the lock go when STS refuses`() async throws {
        try await withWorkers { one, two, _ in
            var world = World()
            world.failure = .refused(status: 403, code: "AccessDenied")
            #expect(await ask(cache(one, world), world).hasSuffix("miss"))
            #expect(await two.outcome("DBSIZE") == .success(.integer(0)))
        }
    }

    @Test @LoopActor func `gives nobody what was revoked`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            #expect(await ask(cache(one, world), world) == "ASIA1 miss")
            world.clock.pass(10)
            let revoked = world.clock.now
            #expect(await ask(cache(two, world), world, revokedBefore: revoked) == "ASIA2 miss")
            #expect(await ask(cache(one, world), world, revokedBefore: revoked) == "ASIA2 shared")
        }
    }

    @Test @LoopActor func `replaces an entry that was tampered with`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            let key = place().key(prefix: "c:")
            #expect(await ask(cache(one, world), world) == "ASIA1 miss")
            guard case .success(.text(var entry)) = await one.outcome("GET", key) else {
                Issue.record("no entry")
                return
            }
            entry[40] = entry[40] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            var number = 1
            for text in [String(decoding: entry, as: UTF8.self), "", "x", "not base64url!", "AAAA", "\u{FFFD}\u{0}"] {
                _ = await one.outcome("SET", key, text)
                number += 1
                #expect(await ask(cache(two, world), world) == "ASIA\(number) miss")
                #expect(await ask(cache(one, world), world) == "ASIA\(number) shared")
            }
        }
    }

    @Test @LoopActor func `refuses an entry that was moved to another user or scope`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            #expect(await ask(cache(one, world), world) == "ASIA1 miss")
            var number = 1
            for other in [place("u_2"), place("u_1", "role\npro\n3600000")] {
                let copied = await one.outcome(
                    "COPY", place().key(prefix: "c:"), other.key(prefix: "c:"))
                #expect(copied == .success(.integer(1)))
                number += 1
                #expect(await ask(cache(two, world), world, at: other) == "ASIA\(number) miss")
            }
        }
    }

    @Test @LoopActor func `opens with an old key, and seals with the first`() async throws {
        try await withWorkers { one, two, _ in
            let world = World()
            #expect(await ask(cache(one, world, keys: ["old"]), world) == "ASIA1 miss")
            #expect(await ask(cache(two, world, keys: ["new", "old"]), world) == "ASIA1 shared")
            let other = place("u_2")
            #expect(await ask(cache(two, world, keys: ["new", "old"]), world, at: other) == "ASIA2 miss")
            #expect(await ask(cache(one, world, keys: ["new"]), world, at: other) == "ASIA2 shared")
            #expect(await ask(cache(one, world, keys: ["new"]), world) == "ASIA3 miss")
        }
    }

    @Test @LoopActor func `asks STS at once when Redis is gone, and no later than its timeout when it is silent`()
        async throws
    {
        try await withWorkers(timeout: .milliseconds(40)) { one, two, server in
            let world = World()
            let cache = cache(two, world)
            var reasons: [String] = []
            cache.onFailure = { reasons.append($0.label) }
            #expect(await one.outcome("CLIENT", "PAUSE", "5000", "ALL") == .success(.status("OK")))
            let start = ContinuousClock.now
            #expect(await ask(cache, world) == "ASIA1 miss")
            #expect(ContinuousClock.now - start < .milliseconds(150))
            let next = ContinuousClock.now
            #expect(await ask(cache, world) == "ASIA2 miss")
            #expect(ContinuousClock.now - next < .milliseconds(30))
            _ = try? await onThread { server.kill() }
            #expect(await ask(cache, world) == "ASIA3 miss")
            #expect(reasons == ["timeout", "unavailable", "unavailable"])
        }
    }

    @Test @LoopActor func `answers although Redis dies while STS is asked`() async throws {
        try await withWorkers { _, two, server in
            let world = World()
            let (result, outcome) = await cache(two, world).credentials(
                at: place(), previous: nil, revokedBefore: nil
            ) {
                _ = try? await onThread { server.kill() }
                return .success(vended(world))
            }
            guard case .success(let vended) = result else {
                Issue.record("nothing vended")
                return
            }
            #expect(vended.role.credentials.accessKeyID == "ASIA1" && outcome == .miss)
        }
    }
}
