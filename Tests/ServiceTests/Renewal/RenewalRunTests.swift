import CloakroomAWS
import CloakroomWire
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

@Suite(.onLoop)
struct RenewalRunTests {
    private final class Seen: Sendable {
        let keys = Mutex<[String]>([])
        let missed = Mutex<[String: RenewalRun.Miss]>([:])
        let pauses = Mutex<[Duration]>([])
    }

    @LoopActor private func run(
        _ seen: Seen, mayRenew: @escaping @Sendable (String) -> Bool = { _ in true },
        _ renew: @escaping @Sendable (String) -> Renewal.Outcome
    ) throws -> RenewalRun {
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "assets/", maximumInFlight: 8,
            partialFailure: .report, retention: .seconds(86_400), ownFolders: ["photos/"])
        let renewer = Renewer(settings: settings.ofWholeKeys, requestDeadline: .seconds(15), metrics: try Metrics()) {
            key, _ in
            seen.keys.withLock { $0.append(key) }
            return Renewal(outcome: renew(key), counts: AttemptCounts(attempts: 1))
        }
        return RenewalRun(
            renewer, totals: .init(), interval: .zero, mayRenew: mayRenew,
            onMiss: { key, miss in seen.missed.withLock { $0[key] = miss } },
            sleep: { delay in seen.pauses.withLock { $0.append(delay) } })
    }

    @Test @LoopActor func `sends whole keys as they are, counts them, and tells those not renewed`() async throws {
        let seen = Seen()
        let run = try run(seen, mayRenew: { !$0.hasPrefix("photos/") }) { key in
            switch key {
            case "gone": .notFound
            case "a/cold": .archived
            default: .renewed(expiration: nil)
            }
        }
        try await run.renew(["a/b c", "gone", "a/cold", "photos/u_1/a", ".x"])
        #expect(seen.keys.withLock { Set($0) } == ["a/b c", "gone", "a/cold", ".x"])
        let missed: [String: RenewalRun.Miss] = [
            "a/cold": .refused(.archived), "gone": .gone, "photos/u_1/a": .leftAlone,
        ]
        #expect(seen.missed.withLock { $0 } == missed)
        let totals = run.totals
        #expect(totals.renewed == 2 && totals.gone == 1 && totals.refused == 1 && totals.skipped == 1)
    }

    @Test @LoopActor func `a batch that fails for a while comes again after the pause that S3 asks for`() async throws {
        let seen = Seen()
        let attempts = Mutex(0)
        let run = try run(seen) { _ in
            attempts.withLock { count in
                count += 1
                return count < 3 ? .unavailable(retryAfter: .seconds(9), code: "SlowDown") : .renewed(expiration: nil)
            }
        }
        try await run.renew(["a"])
        #expect(seen.pauses.withLock { $0.filter { $0 == .seconds(9) }.count } == 2 && run.totals.renewed == 1)
    }

    @Test @LoopActor func `an outage and wrong credentials end it, and nothing counts as done`() async throws {
        let run = try run(Seen()) { _ in .unavailable(retryAfter: nil, code: "InternalError") }
        await #expect(throws: RenewalRun.RunError.unavailable(code: "InternalError")) { try await run.renew(["a"]) }
        let denied = try self.run(Seen()) { _ in .misconfigured(code: "InvalidAccessKeyId") }
        await #expect(throws: RenewalRun.RunError.misconfigured(code: "InvalidAccessKeyId")) {
            try await denied.renew(["a"])
        }
        #expect(run.totals == .init() && denied.totals == .init())
    }
}
