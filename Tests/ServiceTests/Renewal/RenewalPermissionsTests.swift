import CloakroomAWS
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct RenewalPermissionsTests {
    /// A clock that moves when somebody sleeps, and tests that end when they are told to.
    private final class FakeClock: Sendable {
        private let state = Mutex(
            (elapsed: Duration.zero, tests: [(prefix: String, at: Duration)](), slept: [Duration]()))
        private let start = ContinuousClock.now

        var now: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }
        var tests: [String] { state.withLock { $0.tests.map { "\($0.prefix) \($0.at)" } } }
        func pass(_ duration: Duration) { state.withLock { $0.elapsed += duration } }

        /// - Parameter test: what went wrong; `nil` when nothing did.
        @LoopActor func permissions(
            kmsKey: String? = nil, of keys: [String: String] = [:],
            _ test: @escaping @Sendable (String) async -> AWSError?
        ) -> RenewalPermissions {
            RenewalPermissions(
                now: { self.now }, sleep: { self.pass($0) },
                kmsKey: { key, _ throws(AWSError) in
                    guard key != "unknown" else { throw AWSError(.transient, code: "Timeout") }
                    return keys[key]
                },
                test: { prefix, _ in
                    self.state.withLock { $0.tests.append((prefix, $0.elapsed)) }
                    return await test(prefix).map { .failed($0) } ?? .renewed(kmsKey: kmsKey)
                })
        }
    }

    private static let denied = Renewal.Outcome.accessDenied(code: "AccessDenied")
    private static let refused = Renewal.Outcome.refused(code: "InvalidArgument")
    private let clock = FakeClock()
    private var deadline: ContinuousClock.Instant { clock.now + .seconds(15) }

    @Test @LoopActor func `takes no refusal for the key's own on the word of an earlier renewal`() async throws {
        let permissions = clock.permissions { _ in AWSError(.refused, status: 403, code: "AccessDenied") }
        let before = permissions.lastRefusal
        let refusal = try #require(permissions.refusal(Self.refused, of: "k", under: "a/"))
        permissions.renewed(under: "a/", sentAfter: before)
        permissions.renewed(under: "b/", sentAfter: permissions.lastRefusal)
        #expect(await permissions.cause(of: refusal, until: deadline) == .unknown)
        permissions.renewed(under: "a/", sentAfter: permissions.lastRefusal)
        #expect(await permissions.cause(of: refusal, until: deadline) == .key)
        #expect(clock.tests.count == 1)
        // Nor is the next one proven by it.
        let next = try #require(permissions.refusal(Self.refused, of: "l", under: "a/"))
        #expect(await permissions.cause(of: next, until: deadline) == .unknown)
    }

    /// Without `s3:ListBucket` each key that is gone is refused, and those that are there are renewed.
    @Test @LoopActor func `takes a denial for the key's own only after a test`() async throws {
        let permissions = clock.permissions { _ in nil }
        let refusal = try #require(permissions.refusal(Self.denied, of: "k", under: ""))
        permissions.renewed(under: "", sentAfter: permissions.lastRefusal)
        #expect(await permissions.cause(of: refusal, until: deadline) == .key)
        #expect(clock.tests == [" 0.0 seconds"])
        // Every refusal before the test is proven by it, no later one.
        #expect(await permissions.cause(of: refusal, until: deadline) == .key)
        let next = try #require(permissions.refusal(Self.denied, of: "k", under: ""))
        #expect(await permissions.cause(of: next, until: deadline) == .key)
        #expect(clock.tests == [" 0.0 seconds", " 1.0 seconds"])
    }

    @Test @LoopActor func `tests once for all that wait, and once a second and prefix`() async throws {
        let barrier = Barrier()
        let permissions = clock.permissions { _ in
            await barrier.wait()
            return nil
        }
        let refusals = (0..<20).compactMap {
            permissions.refusal(Self.denied, of: "k", under: $0 % 2 == 0 ? "a/" : "b/")
        }
        let answers = refusals.map { refusal in
            LoopActor.spawn { await permissions.cause(of: refusal, until: deadline) }
        }
        await barrier.gathers(2)
        // One that comes while the tests are under way is not proven by them.
        let late = try #require(permissions.refusal(Self.denied, of: "k", under: "a/"))
        let later = LoopActor.spawn { await permissions.cause(of: late, until: deadline) }
        barrier.open()
        for answer in answers { #expect(await answer.value == .key) }
        #expect(await later.value == .key)
        #expect(clock.tests.sorted() == ["a/ 0.0 seconds", "a/ 1.0 seconds", "b/ 0.0 seconds"])
    }

    @Test @LoopActor func `asks again when a test has failed and another key is refused`() async throws {
        let fails = Mutex(true)
        let permissions = clock.permissions { _ in fails.withLock(\.self) ? AWSError(.transient, code: "Timeout") : nil
        }
        let first = try #require(permissions.refusal(Self.denied, of: "k", under: ""))
        #expect(await permissions.cause(of: first, until: deadline) == .unknown)
        fails.withLock { $0 = false }
        clock.pass(.seconds(5))
        let second = try #require(permissions.refusal(Self.denied, of: "k", under: ""))
        #expect(await permissions.cause(of: second, until: deadline) == .key)
        #expect(clock.tests == [" 0.0 seconds", " 5.0 seconds"])
        let third = try #require(permissions.refusal(Self.denied, of: "k", under: ""))
        #expect(await permissions.cause(of: third, until: clock.now) == .unknown)
    }

    /// A denial may be KMS' without saying so.
    @Test(arguments: [nil, "a"])
    @LoopActor func `takes a denial for the key's own only under the KMS key that the test has shown`(kmsKey: String?)
        async throws
    {
        let permissions = clock.permissions(kmsKey: kmsKey, of: ["under a": "a", "under b": "b"]) { _ in nil }
        for (key, cause) in [
            ("under none", .key), ("under a", kmsKey == "a" ? .key : .kmsKey), ("under b", .kmsKey),
            ("unknown", .unknown),
        ] as [(String, RenewalPermissions.Cause)] {
            let refusal = try #require(permissions.refusal(Self.denied, of: key, under: ""))
            #expect(await permissions.cause(of: refusal, until: deadline) == cause, "\(key)")
            let other = try #require(permissions.refusal(Self.refused, of: key, under: ""))
            #expect(await permissions.cause(of: other, until: deadline) == .key, "\(key)")
        }
    }

    @Test(arguments: [
        Renewal.Outcome.renewed(expiration: nil), .recentlyWritten(expiration: nil), .notFound, .archived, .invalidKey,
        .unrenewableObject(code: "x"), .misconfigured(code: "x"), .unavailable(retryAfter: nil, code: "x"),
    ])
    @LoopActor func `counts nothing else as a refusal`(outcome: Renewal.Outcome) {
        let permissions = RenewalPermissions(test: nil)
        #expect(permissions.refusal(outcome, of: "k", under: "") == nil)
        #expect(permissions.lastRefusal == 0 && !permissions.isAwaited)
    }
}
