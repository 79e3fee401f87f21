import CloakroomAWS
import CloakroomWire
import Foundation
import CloakroomLoop
import CloakroomScriptedS3
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

/// What is said about a key, beside what is true of it (FAULTS rows 4, 5, 8, 9).
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct TruthTests {
    @Test(arguments: S3Fault.allCases)
    @LoopActor func `never calls renewed or gone what is neither`(fault: S3Fault) async throws {
        let store = try ScriptedStore(timeout: .milliseconds(fault == .hang ? 300 : 5000))
        defer { store.server.stop() }
        store.server.put("a.bin")
        store.server.script(FaultRule(fault))
        let outcome = await store.renew()
        #expect(outcome != .notFound)
        let selfCopies = store.server.truth("a.bin").selfCopies
        switch outcome {
        case .renewed, .recentlyWritten: #expect(selfCopies > 0)
        default: #expect(selfCopies == 0 || fault == .resetAfterwards)
        }
        switch await store.renew("gone.bin") {
        case .renewed, .recentlyWritten: Issue.record("\(fault): what is gone was called renewed")
        default: break
        }
    }

    @Test(arguments: S3Fault.allCases)
    @LoopActor func `is what it was again after one fault`(fault: S3Fault) async throws {
        let store = try ScriptedStore(timeout: .milliseconds(fault == .hang ? 300 : 5000))
        defer { store.server.stop() }
        store.server.put("a.bin")
        store.server.script(FaultRule(fault, times: 1))
        _ = await store.renew()
        let outcome = await store.renew()
        #expect(outcome == .recentlyWritten(expiration: nil) || outcome == .renewed(expiration: nil))
        #expect(store.server.truth("a.bin").selfCopies == 1)
        #expect(await store.renew("gone.bin") == .notFound)
    }

    @Test(arguments: [Settings.Renewal.PartialFailure.retry, .report], [RenewalSettings.Mode.auto, .replace])
    @LoopActor func `holds under all faults at once`(
        failure: Settings.Renewal.PartialFailure, mode: RenewalSettings.Mode
    ) async throws {
        let start = ScriptedS3.wallClock()
        let store = try ScriptedStore(renewal: .init(mode: mode), timeout: .milliseconds(500))
        defer { store.server.stop() }
        let keys = (0..<600).map { ScriptedS3.key("k", $0) }
        for (index, key) in keys.enumerated() where index % 5 != 4 { store.server.put(key) }
        store.server.mix(FaultMix(share: failure == .retry ? 0.04 : 0.15, seed: 11))
        let renewer = try store.s3.renewer(failure)
        var claims = 0
        for batch in stride(from: 0, to: keys.count, by: 20) {
            guard case .results(let results, _) = await renewer.renew(Array(keys[batch..<batch + 20])) else { continue }
            for result in results {
                let truth = store.server.truth(result.key)
                if result.success { #expect(truth.lastModified >= start, "\(result.key)") }
                if result.error == .notFound { #expect(!truth.exists, "\(result.key)") }
                claims += 1
            }
        }
        // Enough of both for the above to mean something.
        #expect(claims >= 100)
        #expect(store.server.injectedFaults.values.reduce(0, +) >= 15)
    }
}
