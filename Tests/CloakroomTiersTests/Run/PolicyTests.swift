import CloakroomKit
import CloakroomKitTestSupport
import CloakroomSQLite
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

    /// Of three photos of 3000 bytes.
    @Test(arguments: [TierCall.Kind.put, .documents, .verify], [(nil, 0), (7000, 1), (0, 3)] as [(Int64?, Int)])
    func `a limit of bytes that is changed during a run holds for it`(
        kind: TierCall.Kind, limit: (bytes: Int64?, evicted: Int)
    ) async throws {
        let gate = Gate()
        var policy = RetentionPolicy(period: .quarter, hotByteLimit: 1)
        let device = try StoreFixture(
            policy, gate: { call, moment in if call.kind == kind, moment == .before { await gate.pass() } })
        for name in ["a", "b", "c"] {
            try await device.add(name)
            device.clock.pass(60)
        }
        let store = device.store
        let run = Task { await store.run() }
        await gate.arrival()
        policy.hotByteLimit = limit.bytes
        try await store.setPolicy(policy)
        await gate.open()
        let report = await run.value
        #expect(report.stoppedBy == nil)
        #expect(report.evicted == limit.evicted)
        #expect(device.photoFiles.count == 3 - limit.evicted)
        for name in ["a", "b", "c"] { #expect(try await device.read(name) == device.bytes[name]) }
    }

    @Test func `the policy of a new store is kept, whatever later launches pass`() async throws {
        let device = try StoreFixture(RetentionPolicy(period: .forever))
        _ = try await device.addOld("a", days: 400)
        try await device.store.releaseLock()
        let later = try device.secondProcess(RetentionPolicy(period: .week))
        #expect(await later.policy.period == .forever)
        #expect(await later.run().evicted == 0)
        try await later.setPolicy(RetentionPolicy(period: .month))
        try await later.releaseLock()
        #expect(await (try device.secondProcess(RetentionPolicy(period: .week))).policy.period == .month)
    }

    @Test func `a store of an earlier version that has no policy keeps the one of the next writer`() async throws {
        let device = try StoreFixture(RetentionPolicy(period: .month))
        let reader = try device.secondProcess(RetentionPolicy(period: .quarter))
        let id = try await device.add("a")
        try await device.store.releaseLock()
        let database = try SQLiteDatabase(at: device.folder.appendingPathComponent("catalog.sqlite").path)
        try database.run(script: "DELETE FROM setting WHERE name = 'policy'")
        database.close()
        let process = try device.secondProcess(RetentionPolicy(period: .week))
        try await process.releaseLock()
        #expect(await reader.policy.period == .month)
        try await reader.pin(id)
        #expect(await reader.policy.period == .week)
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
