import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// The lock that a store gives up while it runs.
@Suite(.serialized) struct LockTests {
    @Test(.timeLimit(.minutes(1)), arguments: [TierCall.Kind.put, .documents, .verify, .delete])
    func `giving the lock up ends the run first: without it nothing is deleted, and nothing leaves the device`(
        kind: TierCall.Kind
    ) async throws {
        let hold = Hold()
        let unlinked = Mutex(0)
        let device = try StoreFixture(
            gate: hold.gate, step: { step in if step == .unlinked { unlinked.withLock { $0 += 1 } } })
        // One photo is to be uploaded, one may leave the device, and one may be deleted.
        try await device.add("old")
        device.clock.pass(days: 29)
        try await device.add("removed")
        _ = await device.store.run()
        try await device.store.remove(name: "removed")
        _ = await device.store.run()
        device.clock.pass(days: 2.5)
        try await device.add("new")

        hold.begin(at: kind)
        let store = device.store
        let run = Task { await store.run() }
        await hold.arrival()
        let unlinkedBefore = unlinked.withLock { $0 }
        let release = Task { try await store.releaseLock() }
        #expect(await hold.isCancelled(within: .seconds(20)))
        // The run has not ended, so the lock is not free.
        let second = try device.secondProcess()
        #expect(await second.isWriter == false)
        #expect(await second.run().stoppedBy?.code == .storeInUse)
        await hold.end()
        try await release.value
        #expect(await run.value.stoppedBy?.code == .cancelled)

        let deletions = { device.remote.log.filter { $0.kind == .delete }.map(\.device) }
        #expect(deletions() == [])
        let report = await second.run()
        #expect(report.stoppedBy == nil)
        #expect(deletions() == ["second process"])
        #expect(unlinked.withLock { $0 } == unlinkedBefore)
        #expect(report.evicted == 1 - unlinkedBefore)
        #expect(await store.run().stoppedBy?.code == .storeInUse)
    }

    /// Holds one request until its task is cancelled, and from then on until the test lets it fail.
    private final class Hold: Sendable {
        private let kind = Mutex<TierCall.Kind?>(nil)
        private let wasCancelled = Mutex(false)
        private let cancellation = Gate()
        private let ending = Gate()

        /// - Parameter kind: of the next request that is held.
        func begin(at kind: TierCall.Kind) { self.kind.withLock { $0 = kind } }

        var gate: TierGate {
            { [self] call, moment in
                let isHeld = kind.withLock { kind in
                    guard moment == .before, kind == call.kind else { return false }
                    kind = nil
                    return true
                }
                guard isHeld else { return }
                let isCancelled = await !cancellation.pass()
                wasCancelled.withLock { $0 = isCancelled }
                // Its own task would be let through.
                await Task { _ = await ending.pass() }.value
                try Task.checkCancellation()
            }
        }

        func arrival() async { await cancellation.arrival() }

        /// Waits until the request's task is cancelled.
        func isCancelled(within time: Duration) async -> Bool {
            let limit = Task {
                try await Task.sleep(for: time)
                await cancellation.open()
            }
            await ending.arrival()
            limit.cancel()
            return wasCancelled.withLock { $0 }
        }

        func end() async { await ending.open() }
    }

    @Test(.timeLimit(.minutes(1))) func `the lock stays for a photo that is added while a run ends`() async throws {
        let (hold, adding) = (Hold(), Gate())
        let device = try StoreFixture(
            thumbnailer: ScriptedThumbnailer { file in
                if try Data(contentsOf: file) == StoreFixture.bytes("late") { await adding.pass() }
            }, gate: hold.gate)
        try await device.add("first")
        hold.begin(at: .put)
        let store = device.store
        let run = Task { await store.run() }
        await hold.arrival()
        let release = Task { try await store.releaseLock() }
        #expect(await hold.isCancelled(within: .seconds(20)))
        let file = try device.write("late", StoreFixture.bytes("late"))
        let addition = Task { try await store.add(file, name: "late", takenAt: .now) }
        await adding.arrival()
        await hold.end()
        #expect(await run.value.stoppedBy?.code == .cancelled)
        for _ in 0..<200 { await Task.yield() }
        #expect(await store.isWriter)
        await adding.open()
        _ = try await addition.value
        try await release.value
        #expect(await store.isWriter == false)
        #expect(try await store.photo(named: "late") != nil)
    }

    @Test func `a catalog that another process has put in the place of this one's is not written`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        try await device.store.releaseLock()
        let catalog = device.folder.appendingPathComponent("catalog.sqlite")
        let aside = device.folder.appendingPathComponent("catalog.sqlite.aside")
        try FileManager.default.moveItem(at: catalog, to: aside)
        #expect(await CloakroomError.code { try await device.store.setPolicy(RetentionPolicy()) } == .storeFailed)
        try FileManager.default.copyItem(at: aside, to: catalog)
        #expect(await CloakroomError.code { try await device.store.setPolicy(RetentionPolicy()) } == .storeFailed)
        #expect(await device.store.isWriter == false)
    }
}
