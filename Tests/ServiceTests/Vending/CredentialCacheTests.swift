import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct CredentialCacheTests {
    private let clock = TestClock()
    private let scope: Scope

    init() throws { scope = try settings(smallest()).vending.scope }

    private func key(_ user: String) throws -> CredentialCache.Key {
        CredentialCache.Key(
            user: try #require(UserID(user)), grant: Grant(scope: scope, lifetime: .seconds(3600), tier: "free"))
    }

    /// An hour's credentials from now.
    private func vended(_ id: String) -> VendedSession {
        let role = AssumedRole(
            accessKeyID: id, secretAccessKey: Secret("secret"), sessionToken: Secret("token"),
            expiration: clock.now.addingTimeInterval(3600))
        return VendedSession(
            role: role, sessionName: "s", issued: clock.now, scope: "full", scopeDigest: "d", jitter: 0)
    }

    @LoopActor private func ask(
        _ cache: CredentialCache, _ user: String, _ fetched: @escaping @LoopActor @Sendable () -> CredentialCache.Result
    ) async throws -> String {
        let (result, outcome) = await cache.credentials(try key(user)) { _ in (fetched(), .miss) }
        switch result {
        case .success(let vended): return "\(vended.role.credentials.accessKeyID) \(outcome)"
        case .failure: return "none \(outcome)"
        }
    }

    @Test @LoopActor func `hands out nothing stale from the old generation`() async throws {
        let clock = clock
        // One entry a generation: each new user makes the one before the old generation.
        let cache = CredentialCache(capacity: 2, now: { clock.now })
        #expect(try await ask(cache, "u_1") { .success(self.vended("ASIA1")) } == "ASIA1 miss")
        #expect(try await ask(cache, "u_2") { .success(self.vended("ASIA2")) } == "ASIA2 miss")
        clock.pass(1800)
        #expect(cache.reusable(try key("u_1")) == nil)
        #expect(try await ask(cache, "u_1") { .success(self.vended("ASIA3")) } == "ASIA3 miss")
    }

    /// STS may take so long to fail that what was held has ended meanwhile.
    @Test @LoopActor func `hands out no stand-in that is about to end when STS has failed`() async throws {
        let clock = clock
        let cache = CredentialCache(capacity: 8, now: { clock.now })
        for (wait, expected) in [(1739.0, "ASIA1 previous"), (1740, "none miss")] {
            cache.drop(try key("u_1"))
            #expect(try await ask(cache, "u_1") { .success(self.vended("ASIA1")) } == "ASIA1 miss")
            clock.pass(1800)
            let asked = try await ask(cache, "u_1") {
                clock.pass(wait)
                return .failure(.unavailable(retryAfter: nil, code: "Away"))
            }
            #expect(asked == expected)
            // The pause after a failure.
            clock.pass(3)
        }
    }

    @Test @LoopActor func `forgets what STS has refused when it has refused too many`() async throws {
        let clock = clock
        let cache = CredentialCache(capacity: 8, now: { clock.now })
        func refuse(_ user: String) async throws -> String {
            try await ask(cache, user) { .failure(.refused(status: 403, code: "AccessDenied")) }
        }
        for number in 1...4096 { #expect(try await refuse("u_\(number)") == "none miss") }
        #expect(try await refuse("u_1") == "none refused")
        #expect(try await refuse("u_0") == "none miss")
        #expect(try await refuse("u_0") == "none refused")
        #expect(try await ask(cache, "u_1") { .success(self.vended("ASIA1")) } == "ASIA1 miss")
    }
}
