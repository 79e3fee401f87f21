import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AdmissionsTests {
    /// What is left of the windows, for the device and for the user.
    private static let count = "*4\r\n:0\r\n:3600000\r\n:0\r\n:3600000\r\n"

    @LoopActor private func admit(_ replies: String, readsRecords: Bool) async throws -> (Admission, [[String]]) {
        let redis = FakeRedis([replies])
        let admissions = Admissions(
            limiter: RateLimiter(redis: redis, keyPrefix: "c:"), tiers: Tiers(try settings(smallest())),
            settings: Settings.Entitlements(enabled: readsRecords, withoutRecord: .refuse),
            now: { Date(timeIntervalSince1970: 1_800_000_000) })
        let subject = Subject(
            userID: try #require(UserID("u_1")), deviceID: nil, tier: "pro", issuer: "https://a.example")
        let admission = await withCheckedContinuation { waiter in
            admissions.admit(.vend, subject) { waiter.resume(returning: $0) }
        }
        return (admission, redis.requests)
    }

    @Test @LoopActor func `where the settings read no records, the token decides, and limits count all the same`()
        async throws
    {
        let (admission, requests) = try await admit(Self.count, readsRecords: false)
        #expect(try admission.entitlement.get().tierName == "pro")
        #expect(admission.decision.verdict == .allowed && admission.decision.requests.remaining == 59)
        #expect(requests.map(\.first) == ["EVALSHA"])
    }

    @Test @LoopActor func `a record that cannot be read, or is not there where the settings want one, refuses`()
        async throws
    {
        func refusal(_ record: [String?]) async throws -> Entitlement.Refusal? {
            let (admission, _) = try await admit(Self.count + .redisArray(record), readsRecords: true)
            if case .failure(let refusal) = admission.entitlement { return refusal } else { return nil }
        }
        let none = [String?](repeating: nil, count: UserRecord.requestFields.count)
        #expect(try await refusal(none) == .noRecord)
        #expect(try await refusal(["1800000000"] + none.dropFirst()) == nil)
        #expect(try await refusal(["never"] + none.dropFirst()) == .malformedRecord)
    }
}
