import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// A policy that is changed by another hand than the one that began the run.
@Suite(.serialized) struct PolicyTests {
    /// Runs until a request of a kind is about to be sent, and goes on after a change.
    private func run(
        _ policy: RetentionPolicy, until kind: TierCall.Kind, changedTo changed: RetentionPolicy
    ) async throws -> (StoreFixture, TieringReport) {
        let gate = Gate()
        let device = try StoreFixture(
            policy, gate: { call, moment in if call.kind == kind, moment == .before { await gate.pass() } })
        _ = try await device.addOld("a", days: 31)
        let store = device.store
        let run = Task { await store.run() }
        await gate.arrival()
        try await store.setPolicy(changed)
        await gate.open()
        return (device, await run.value)
    }

    @Test func `a policy that is changed to for ever during a run keeps what has not left`() async throws {
        let (device, report) = try await run(
            RetentionPolicy(), until: .documents, changedTo: RetentionPolicy(period: .forever))
        #expect(report.evicted == 0)
        #expect(report.stoppedBy?.code == .notAllowedNow)
        #expect(device.photoFiles.count == 1)
    }

    @Test(arguments: [TierCall.Kind.put, .documents, .verify])
    func `a longer period that is chosen during a run holds for it`(kind: TierCall.Kind) async throws {
        let (device, report) = try await run(
            RetentionPolicy(period: .week), until: kind, changedTo: RetentionPolicy(period: .quarter))
        #expect(report.evicted == 0)
        #expect(report.stoppedBy == nil)
        #expect(device.photoFiles.count == 1)
        device.clock.pass(days: 60)
        #expect(await device.store.run().evicted == 1)
    }

    @Test func `a policy that another process has set holds as soon as this one writes again`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        try await device.store.releaseLock()
        let second = try device.secondProcess()
        #expect(await second.restoreAll().restored == 1)
        try await second.releaseLock()
        device.clock.pass(days: 8)
        #expect(await device.store.run().evicted == 0)
        #expect(await device.store.policy.period == .forever)
        #expect(device.photoFiles.count == 1)
    }
}
