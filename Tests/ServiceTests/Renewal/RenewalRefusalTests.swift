import CloakroomAWS
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomTestSupport
import CloakroomWire
import Foundation
import Synchronization
import Testing

@testable import CloakroomServer

/// What a refusal of one key says, and what it says of the others.
@Suite(.onLoop)
struct RenewalRefusalTests {
    private static let denied = Renewal.Outcome.accessDenied(code: "AccessDenied")

    @Test(
        arguments: [
            (denied, .forbidden), (.refused(code: "InvalidArgument"), .forbidden),
            (.refused(code: "UnsendableRequest"), .invalidKey),
        ] as [(Renewal.Outcome, RenewalErrorCode)])
    @LoopActor func `tells a refusal of one key alone once another object has been renewed after it`(
        outcome: Renewal.Outcome, failure: RenewalErrorCode
    ) async throws {
        let metrics = try Metrics()
        let tested = Mutex<[String]>([])
        let permissions = RenewalPermissions { prefix, _ in
            tested.withLock { $0.append(prefix) }
            return .renewed(kmsKey: nil)
        }
        let renewer = try Renewer.test(others: ["new/"], metrics: metrics, permissions: permissions) {
            $0 == "new/a" ? outcome : $0 == "b" ? .renewed(expiration: nil) : .notFound
        }
        let b = RenewResult(key: "b", renewedUntil: Renewer.testTime + 86_400)
        #expect(await renewer.renew(["new/a", "b"]) == .results([RenewResult(key: "new/a", failure: failure), b]))
        #expect(await renewer.renew(["a"]) == .results([RenewResult(key: "a", failure: failure)]))
        #expect(tested.withLock { Set($0) } == ["new/"])
        #expect(!permissions.isAwaited)
        // No alarm: nothing of ours is wrong.
        let renewals = metrics.layout.renewals
        #expect(metrics.row[renewals[.accessDenied]] == 0 && metrics.row[renewals[.misconfigured]] == 0)
    }

    /// Clients take each key of a 200 that is not `not_found` for renewed.
    @Test(arguments: [denied, .refused(code: "InvalidArgument")])
    @LoopActor func `tells nothing of single keys while no object can be renewed, from the first request on`(
        outcome: Renewal.Outcome
    ) async throws {
        let isDenied = Mutex(false)
        let permissions = RenewalPermissions { _, _ in
            isDenied.withLock(\.self)
                ? .failed(AWSError(.refused, status: 403, code: "AccessDenied")) : .renewed(kmsKey: nil)
        }
        let renewer = try Renewer.test(.report, permissions: permissions) { _ in
            isDenied.withLock(\.self) ? outcome : .renewed(expiration: nil)
        }
        // What was renewed before proves nothing.
        guard case .results = await renewer.renew(["a", "b"]) else { return _ = Issue.record("not renewed") }
        isDenied.withLock { $0 = true }
        for keys in [["a"], ["a", "b", "c"]] {
            guard case .misconfigured = await renewer.renew(keys) else { return _ = Issue.record("\(keys)") }
        }
        isDenied.withLock { $0 = false }
        guard case .results = await renewer.renew(["a"]) else { return _ = Issue.record("not renewed again") }
    }

    @Test @LoopActor func `looks up the KMS keys of denied objects side by side, as many as may be copied`()
        async throws
    {
        let running = Mutex<[Int]>([0])
        let permissions = RenewalPermissions(
            kmsKey: { _, _ throws(AWSError) in
                running.withLock { $0.append(($0.last ?? 0) + 1) }
                for _ in 0..<100 { await Task.yield() }
                running.withLock { $0.append(($0.last ?? 0) - 1) }
                return nil
            }, test: { _, _ in .renewed(kmsKey: nil) })
        let renewer = try Renewer.test(inFlight: 4, permissions: permissions) { _ in Self.denied }
        let keys = (1...10).map { "k\($0)" }
        let forbidden = keys.map { RenewResult(key: $0, failure: .forbidden) }
        #expect(await renewer.renew(keys) == .results(forbidden))
        #expect(running.withLock { $0.max() } == 4)
        #expect(running.withLock { $0.last } == 0 && !permissions.isAwaited)
    }

    /// An object that is refused at two places is told of only when both refusals are its own.
    @Test @LoopActor func `tells nothing of a key while one of the places that refuse it cannot be renewed at`()
        async throws
    {
        let permissions = RenewalPermissions { prefix, _ in
            prefix == "new/"
                ? .failed(AWSError(.refused, status: 403, code: "AccessDenied")) : .renewed(kmsKey: nil)
        }
        let renewer = try Renewer.test(others: ["new/"], permissions: permissions) { _ in Self.denied }
        #expect(await renewer.renew(["a"]) == .misconfigured(code: "AccessDenied"))
        #expect(await renewer.renew(["new/a"]) == .misconfigured(code: "AccessDenied"))
    }

    @Test @LoopActor func `takes no renewal as proof that sent nothing, or was sent too early`()
        async throws
    {
        let refused = Renewal.Outcome.refused(code: "InvalidArgument")
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: "", otherPrefixes: ["new/"],
            maximumInFlight: 1, partialFailure: .retry, retention: .seconds(86_400))
        let silent = Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: try Metrics(), now: { Renewer.testTime }
        ) { key, _ in
            key == "new/a"
                ? Renewal(outcome: refused, counts: AttemptCounts(attempts: 1))
                : Renewal(outcome: key == "a" ? .notFound : .renewed(expiration: nil), counts: AttemptCounts())
        }
        #expect(await silent.renew(["new/a", "new/b"]) == .misconfigured(code: "InvalidArgument"))
        // The other key's renewal is under way at its second place when the refusal comes.
        let isUnderWay = Mutex(false)
        let isRefused = Mutex(false)
        let early = try Renewer.test(others: ["new/"], permissions: RenewalPermissions(test: nil)) { key in
            switch key {
            case "new/a":
                try? await until { isUnderWay.withLock(\.self) }
                return refused
            case "new/b", "new/c":
                isUnderWay.withLock { $0 = true }
                try? await until { isRefused.withLock(\.self) }
                return .renewed(expiration: nil)
            case "a":
                isRefused.withLock { $0 = true }
                return .notFound
            default: return .notFound
            }
        }
        #expect(await early.renew(["new/a", "b"]) == .misconfigured(code: "InvalidArgument"))
        isUnderWay.withLock { $0 = false }
        isRefused.withLock { $0 = false }
        #expect(await early.renew(["new/a", "new/c"]) == .misconfigured(code: "InvalidArgument"))
    }

    /// S3 may have found it too young before it looked at our permissions.
    @Test @LoopActor func `takes no object for proof that S3 left as it was`() async throws {
        let permissions = RenewalPermissions { _, _ in
            .failed(AWSError(.refused, status: 403, code: "AccessDenied"))
        }
        let renewer = try Renewer.test(inFlight: 1, permissions: permissions) {
            $0 == "a" ? .refused(code: "InvalidArgument") : .recentlyWritten(expiration: nil)
        }
        #expect(await renewer.renew(["a", "b"]) == .misconfigured(code: "InvalidArgument"))
    }

    @Test @LoopActor func `takes a refusal that is not denial for the key's own on another's renewal`() async throws {
        let renewer = try Renewer.test(inFlight: 1, permissions: RenewalPermissions(test: nil)) {
            switch $0 {
            case "a": .refused(code: "InvalidArgument")
            case "denied": Self.denied
            default: .renewed(expiration: nil)
            }
        }
        let b = RenewResult(key: "b", renewedUntil: Renewer.testTime + 86_400)
        #expect(await renewer.renew(["a", "b"]) == .results([RenewResult(key: "a", failure: .forbidden), b]))
        // Sent before.
        #expect(await renewer.renew(["b", "a"]) == .misconfigured(code: "InvalidArgument"))
        #expect(await renewer.renew(["denied", "b"]) == .misconfigured(code: "AccessDenied"))
    }

    @Test @LoopActor func `takes a renewal that only the second place had for proof, too`() async throws {
        let renewer = try Renewer.test(others: ["new/"], inFlight: 1, permissions: RenewalPermissions(test: nil)) {
            switch $0 {
            case "new/a": .refused(code: "InvalidArgument")
            case "new/b": .renewed(expiration: nil)
            default: .notFound
            }
        }
        let b = RenewResult(key: "b", renewedUntil: Renewer.testTime + 86_400)
        #expect(await renewer.renew(["new/a", "b"]) == .results([RenewResult(key: "new/a", failure: .forbidden), b]))
    }
}
