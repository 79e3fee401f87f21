import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

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

    private struct Dependencies: Sendable {
        let sts = Counting()
        let clock = TestClock()
        /// How long STS takes.
        var delay: Duration = .zero
        var failure: STSError?
    }

    @LoopActor private func cache(
        _ redis: RedisConnection, _ dependencies: Dependencies, keys: [String] = ["one"],
        deadline: Duration = .seconds(3)
    ) -> SharedCredentialCache {
        SharedCredentialCache(
            redis: redis, keyPrefix: "c:", keys: keys.map { SealingKey(from: Array($0.utf8), purpose: "test") },
            requestDeadline: deadline, now: { dependencies.clock.now }, jitter: { 0 })
    }

    private func sharedKey(_ user: String = "u_1", _ name: String = "role\nfree\n3600000") -> SharedCredentialKey {
        guard let user = UserID(user) else { preconditionFailure("a safe id") }
        return SharedCredentialKey(user: user, name: name)
    }

    private func vended(_ dependencies: Dependencies, lifetime: Double = 3600) -> VendedSession {
        let number = dependencies.sts.next()
        let role = AssumedRole(
            accessKeyID: "ASIA\(number)", secretAccessKey: Secret("s3cr3t"), sessionToken: Secret("t0k3n"),
            expiration: dependencies.clock.now.addingTimeInterval(lifetime))
        return VendedSession(
            role: role, sessionName: "s\(number)", issued: dependencies.clock.now, scope: "full", scopeDigest: "d",
            jitter: 0)
    }

    /// - Returns: the access key or the failure, and where it came from.
    @LoopActor private func ask(
        _ cache: SharedCredentialCache, _ dependencies: Dependencies, at sharedKey: SharedCredentialKey? = nil,
        previous: VendedSession? = nil, revokedBefore: Date? = nil
    ) async -> String {
        let (result, outcome) = await cache.credentials(
            at: sharedKey ?? self.sharedKey(), previous: previous, revokedBefore: revokedBefore
        ) {
            if dependencies.delay > .zero { try? await LoopActor.sleep(for: dependencies.delay) }
            if let failure = dependencies.failure { return .failure(failure) }
            return .success(vended(dependencies))
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
            let dependencies = Dependencies()
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA1 miss")
            let (result, outcome) = await cache(two, dependencies).credentials(
                at: sharedKey(), previous: nil, revokedBefore: nil
            ) { .failure(.cancelled) }
            guard case .success(let shared) = result else {
                Issue.record("nothing shared")
                return
            }
            #expect(outcome == .shared)
            #expect(shared.role.credentials.secretAccessKey.reveal() == "s3cr3t")
            #expect(shared.role.credentials.sessionToken?.reveal() == "t0k3n")
            #expect(shared.role.expiration == dependencies.clock.now.addingTimeInterval(3600))
            #expect(shared.issued == dependencies.clock.now && shared.sessionName == "s1")
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

    /// The shared key names the scope, or a device with `read` would be handed what another with `full` left there.
    @Test @LoopActor func `shares nothing between scopes, tiers and lifetimes`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
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
                    let sharedKey = SharedCredentialKey(
                        user: user, role: "arn:aws:iam::000000000000:role/r", grant: grant)
                    #expect(
                        await ask(cache(redis, dependencies), dependencies, at: sharedKey)
                            == "ASIA\(index + 1) \(outcome)")
                }
            }
            let other = SharedCredentialKey(user: user, role: "arn:aws:iam::000000000000:role/other", grant: grants[0])
            #expect(await ask(cache(two, dependencies), dependencies, at: other) == "ASIA5 miss")
        }
    }

    /// STS may take so long to fail that what was held has ended meanwhile.
    @Test @LoopActor func `hands out no stand-in that is about to end when STS has failed`() async throws {
        try await withWorkers { one, _, _ in
            for (wait, expected) in [(1739.0, "ASIA1 previous"), (1740, "none miss")] {
                let dependencies = Dependencies()
                let previous = vended(dependencies)
                dependencies.clock.pass(1800)
                let (result, outcome) = await cache(one, dependencies).credentials(
                    at: sharedKey("u_\(Int(wait))"), previous: previous, revokedBefore: nil
                ) {
                    dependencies.clock.pass(wait)
                    return .failure(.unavailable(retryAfter: nil, code: "ServiceUnavailable"))
                }
                let key = (try? result.get())?.role.credentials.accessKeyID
                #expect("\(key ?? "none") \(outcome)" == expected)
            }
        }
    }

    @Test @LoopActor func `asks STS once for a hundred subjects of four workers that come together`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies(delay: .milliseconds(50))
            var tasks: [Task<String, Never>] = []
            for redis in [one, two, one, two] {
                let cache = cache(redis, dependencies)
                for user in 0..<100 {
                    let sharedKey = sharedKey("u_\(user)")
                    tasks.append(LoopActor.spawn { await ask(cache, dependencies, at: sharedKey) })
                }
            }
            var outcomes: [String: Int] = [:]
            for task in tasks { outcomes[String(await task.value.split(separator: " ")[1]), default: 0] += 1 }
            #expect(outcomes == ["miss": 100, "shared": 300])
            #expect(dependencies.sts.count == 100)
        }
    }

    @Test @LoopActor func `tells users and scopes apart`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            let (first, second) = (cache(one, dependencies), cache(two, dependencies))
            for (user, name) in [("u_1", "a"), ("u_10", "a"), ("u_1", "b")] {
                let sharedKey = sharedKey(user, name)
                #expect(await ask(first, dependencies, at: sharedKey).hasSuffix("miss"))
                #expect(await ask(second, dependencies, at: sharedKey).hasSuffix("shared"))
            }
        }
    }

    @Test @LoopActor func `takes over the lock of a worker that dies while it asks STS`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            // Its lock is all that a dead worker leaves.
            let key = sharedKey().key(prefix: "c:")
            #expect(await one.outcome("SET", key + ":lock", "dead", "PX", "300") == .success(.status("OK")))
            var lock: Result<RedisReply, RedisError>?
            let (result, outcome) = await cache(two, dependencies, deadline: .seconds(9)).credentials(
                at: sharedKey(), previous: nil, revokedBefore: nil
            ) {
                lock = await one.outcome("GET", key + ":lock")
                return .success(vended(dependencies))
            }
            #expect((try? result.get())?.role.credentials.accessKeyID == "ASIA1" && outcome == .miss)
            // A worker that waits until its time is up calls STS without a lock.
            guard case .success(.text(let token))? = lock else { return _ = Issue.record("no lock: \(lock as Any)") }
            #expect(token != Array("dead".utf8))
            #expect(await one.outcome("EXISTS", key + ":lock") == .success(.integer(0)))
        }
    }

    @Test @LoopActor func `waits for no more than half of a request's time`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            let key = sharedKey().key(prefix: "c:")
            _ = await one.outcome("SET", key + ":lock", "stuck")
            let start = ContinuousClock.now
            #expect(await ask(cache(two, dependencies, deadline: .milliseconds(600)), dependencies) == "ASIA1 miss")
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            // Another's lock is left alone.
            #expect(await one.outcome("GET", key + ":lock") == .success(.text(Array("stuck".utf8))))
        }
    }

    @Test @LoopActor func `hands out the previous ones while another worker gets new ones`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            let previous = vended(dependencies)
            _ = await one.outcome("SET", sharedKey().key(prefix: "c:") + ":lock", "another")
            dependencies.clock.pass(1900)
            #expect(await ask(cache(two, dependencies), dependencies, previous: previous) == "ASIA1 previous")
            #expect(dependencies.sts.count == 1)
        }
    }

    @Test @LoopActor func `gets new ones at half of the lifetime, and hands out the old while STS is away`()
        async throws
    {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            var down = dependencies
            down.failure = .unavailable(retryAfter: nil, code: "Away")
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA1 miss")
            dependencies.clock.pass(1799)
            #expect(await ask(cache(two, dependencies), dependencies) == "ASIA1 shared")
            dependencies.clock.pass(1)
            #expect(await ask(cache(two, down), down) == "ASIA1 previous")
            #expect(await ask(cache(two, dependencies), dependencies) == "ASIA2 miss")
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA2 shared")
            dependencies.clock.pass(3541)
            #expect(await ask(cache(two, down), down) == "\(STSError.unavailable(retryAfter: nil, code: "Away")) miss")
        }
    }

    @Test @LoopActor func `lets the lock go when STS refuses`() async throws {
        try await withWorkers { one, two, _ in
            var dependencies = Dependencies()
            dependencies.failure = .refused(status: 403, code: "AccessDenied")
            #expect(await ask(cache(one, dependencies), dependencies).hasSuffix("miss"))
            #expect(await two.outcome("DBSIZE") == .success(.integer(0)))
        }
    }

    @Test @LoopActor func `gives nobody what was revoked`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA1 miss")
            dependencies.clock.pass(10)
            let revoked = dependencies.clock.now
            #expect(await ask(cache(two, dependencies), dependencies, revokedBefore: revoked) == "ASIA2 miss")
            #expect(await ask(cache(one, dependencies), dependencies, revokedBefore: revoked) == "ASIA2 shared")
        }
    }

    @Test @LoopActor func `replaces an entry that was tampered with`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            let key = sharedKey().key(prefix: "c:")
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA1 miss")
            guard case .success(.text(var entry)) = await one.outcome("GET", key) else {
                Issue.record("no entry")
                return
            }
            entry[40] = entry[40] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            var number = 1
            for text in [String(decoding: entry, as: UTF8.self), "", "x", "not base64url!", "AAAA", "\u{FFFD}\u{0}"] {
                _ = await one.outcome("SET", key, text)
                number += 1
                #expect(await ask(cache(two, dependencies), dependencies) == "ASIA\(number) miss")
                #expect(await ask(cache(one, dependencies), dependencies) == "ASIA\(number) shared")
            }
        }
    }

    @Test @LoopActor func `refuses an entry that was moved to another user or scope`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            #expect(await ask(cache(one, dependencies), dependencies) == "ASIA1 miss")
            var number = 1
            for other in [sharedKey("u_2"), sharedKey("u_1", "role\npro\n3600000")] {
                let copied = await one.outcome(
                    "COPY", sharedKey().key(prefix: "c:"), other.key(prefix: "c:"))
                #expect(copied == .success(.integer(1)))
                number += 1
                #expect(await ask(cache(two, dependencies), dependencies, at: other) == "ASIA\(number) miss")
            }
        }
    }

    @Test @LoopActor func `opens with an old key, and seals with the first`() async throws {
        try await withWorkers { one, two, _ in
            let dependencies = Dependencies()
            #expect(await ask(cache(one, dependencies, keys: ["old"]), dependencies) == "ASIA1 miss")
            #expect(await ask(cache(two, dependencies, keys: ["new", "old"]), dependencies) == "ASIA1 shared")
            let other = sharedKey("u_2")
            #expect(await ask(cache(two, dependencies, keys: ["new", "old"]), dependencies, at: other) == "ASIA2 miss")
            #expect(await ask(cache(one, dependencies, keys: ["new"]), dependencies, at: other) == "ASIA2 shared")
            #expect(await ask(cache(one, dependencies, keys: ["new"]), dependencies) == "ASIA3 miss")
        }
    }

    @Test @LoopActor func `asks STS at once when Redis is gone, and no later than its timeout when it is silent`()
        async throws
    {
        try await withWorkers(timeout: .milliseconds(300)) { one, two, server in
            let dependencies = Dependencies()
            let cache = cache(two, dependencies)
            var reasons: [String] = []
            cache.onFailure = { reasons.append($0.label) }
            #expect(await one.outcome("CLIENT", "PAUSE", "5000", "ALL") == .success(.status("OK")))
            #expect(await ask(cache, dependencies) == "ASIA1 miss")
            #expect(await ask(cache, dependencies) == "ASIA2 miss")
            _ = try? await onThread { server.kill() }
            #expect(await ask(cache, dependencies) == "ASIA3 miss")
            #expect(reasons == ["timeout", "unavailable", "unavailable"])
        }
    }

    @Test @LoopActor func `answers although Redis dies while STS is asked`() async throws {
        try await withWorkers { _, two, server in
            let dependencies = Dependencies()
            let (result, outcome) = await cache(two, dependencies).credentials(
                at: sharedKey(), previous: nil, revokedBefore: nil
            ) {
                _ = try? await onThread { server.kill() }
                return .success(vended(dependencies))
            }
            guard case .success(let vended) = result else {
                Issue.record("nothing vended")
                return
            }
            #expect(vended.role.credentials.accessKeyID == "ASIA1" && outcome == .miss)
        }
    }
}
