import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

/// Deletions in the cold tier, by whole stores.
@Suite(.serialized) struct StoreDeletionTests {
    @Test func `nothing is deleted while the snapshots of another device are gone`() async throws {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        for device in [first, second] {
            try await device.add("shared")
            _ = await device.store.run()
        }
        try await first.add("own")
        // It meets the other one's snapshots.
        _ = await first.store.run()
        first.clock.pass(days: 31)
        #expect(await second.store.run().evicted == 1)
        let snapshot = "snapshot-\(await second.store.device.rawValue)-"
        first.remote.change { account in
            account.documents = account.documents.filter { !$0.key.hasPrefix(snapshot) }
        }
        try await first.store.remove(name: "shared")
        let reports = await first.runDaily(4)
        #expect(reports.map(\.deleted) == [0, 0, 0, 0])
        #expect(reports.last?.stoppedBy?.code == .unavailable)
        let absent = try #require(try await first.store.usage().absentDevices.first)
        #expect(try await first.store.usage().absentDevices.count == 1)
        #expect(absent.id == (await second.store.device))
        #expect(absent.lastPublished < absent.since && absent.since < first.clock.now - 2 * 86_400)
        #expect(try await second.read("shared") == second.bytes["shared"])
        // Published again, they say what the other one needs.
        second.clock.pass(days: 8)
        _ = await second.store.run()
        await first.runDaily(4)
        #expect(first.isStored("shared"))
        #expect(await first.store.run().stoppedBy == nil)
        #expect(try await first.store.usage().absentDevices == [])
    }

    @Test func `a device without documents does not hide that the quota is used up, and is told until it is dismissed`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await second.add("other")
        _ = await second.store.run()
        for name in ["a", "b"] { try await first.add(name) }
        _ = await first.store.run()
        try await first.store.remove(name: "a")
        _ = await first.store.run()
        let lost = await second.store.device
        first.remote.change { account in
            account.documents = account.documents.filter { !$0.key.hasPrefix("snapshot-\(lost.rawValue)-") }
        }
        first.remote.setQuota(1)
        try await first.add("c")
        first.clock.pass(days: 2.1)
        #expect(await first.store.run().stoppedBy?.code == .storageQuotaExceeded)
        #expect(try await first.store.usage().absentDevices.map(\.id) == [lost])
        #expect(first.isStored("a"))
        try await first.store.dismissDevice(lost)
        #expect(try await first.store.usage().absentDevices == [])
        #expect(await first.store.run().deleted == 1)
        #expect(!first.isStored("a"))
    }

    @Test(arguments: [0.5, 1, 1.5, 2, 2.5, 3], [false, true])
    func `a photo that is removed and added again around its deletion is kept`(
        days: Double, isOnOtherDevice: Bool
    ) async throws {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await first.add("a")
        _ = await first.store.run()
        try await first.store.remove(name: "a")
        _ = await first.store.run()
        first.clock.pass(days: days)
        if isOnOtherDevice {
            try await second.add("a")
            _ = await second.store.run()
            try await second.store.remove(name: "a")
        }
        try await first.add("a")
        _ = await first.store.freeSpace(.perform)
        for _ in 0..<3 {
            _ = await second.store.run()
            _ = await first.store.run()
            #expect(try await first.read("a") == first.bytes["a"])
            first.clock.pass(days: 1.3)
        }
    }

    /// Both leave its record as if no snapshot had ever named it.
    @Test(arguments: [false, true])
    func `a photo that is removed, added again, and removed before it is uploaded is deleted`(
        isPinned: Bool
    ) async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        try await device.store.remove(name: "a")
        _ = await device.store.run()
        device.clock.pass(days: 2.1)
        let id = try await device.add("a")
        _ = await device.store.run()
        #expect(device.isStored("a"))
        if isPinned { try await device.store.pin(id) } else { try await device.add("b", device.bytes["a"]) }
        try await device.store.remove(id)
        await device.runDaily(4)
        #expect(!device.isStored("a"))
        #expect(try await device.store.rebuildCatalog().photos == 0)
    }

    @Test func `a photo that is added again while a run looks for deletions, and removed, is deleted`() async throws {
        let interruption = Interruption()
        let device = try StoreFixture(gate: interruption.gate)
        try await device.add("a")
        _ = await device.store.run()
        try await device.store.remove(name: "a")
        _ = await device.store.run()
        device.clock.pass(days: 2.1)
        let (store, file) = (device.store, device.files.appendingPathComponent("a"))
        interruption.set(on: .documents) { _ = try await store.add(file, name: "a", takenAt: Date()) }
        #expect(await store.run().deleted == 0)
        #expect(device.isStored("a"))
        try await store.remove(name: "a")
        await device.runDaily(4)
        #expect(!device.isStored("a"))
    }

    @Test func `a photo that one device kept for another one goes when that one removes it, uploaded there or not`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(
            RetentionPolicy(uploadTime: .whenDue), remote: first.remote, device: "second")
        try await first.add("a")
        _ = await first.store.run()
        _ = try await second.addOld("old")
        let id = try await second.add("a")
        // With the one that leaves, the snapshot names the other one, too.
        #expect(await second.store.run().evicted == 1)
        try await first.store.remove(name: "a")
        await first.runDaily(4)
        #expect(first.isStored("a"))
        try await second.store.pin(id)
        try await second.store.remove(id)
        await second.runDaily(4)
        #expect(!second.isStored("a"))
    }
}
