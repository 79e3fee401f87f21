import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

/// Stores of devices that the user gave up, and that are in use again.
@Suite(.serialized) struct DismissedDeviceTests {
    @Test func `a device that was given up begins anew also when nothing is due`() async throws {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(RetentionPolicy(period: .forever), remote: first.remote, device: "second")
        try await first.add("a")
        for name in ["kept", "removed"] { try await second.add(name) }
        for device in [first, second] { _ = await device.store.run() }
        let old = await second.store.device
        try await first.store.dismissDevice(old)
        try await second.store.remove(name: "removed")
        let reports = await second.runDaily(5)
        #expect(reports.last?.alarms.map(\.kind) == [.dismissed])
        #expect(await second.store.device != old)
        #expect(try await first.store.devices().count == 2)
        #expect(!second.isStored("removed"))
        #expect(second.isStored("kept"))
    }

    @Test func `what a suspended device is about to delete leaves no other device, also after it was given up`()
        async throws
    {
        let gate = Gate()
        let suspended = try StoreFixture(
            device: "suspended",
            gate: { call, moment in if call.kind == .delete, moment == .before { await gate.pass() } })
        let other = try StoreFixture(remote: suspended.remote, device: "other")
        try await suspended.add("shared")
        try await other.add("own")
        for device in [suspended, other] { _ = await device.store.run() }
        try await suspended.store.remove(name: "shared")
        _ = await suspended.store.run()
        suspended.clock.pass(days: 3)
        let store = suspended.store
        let run = Task { await store.run() }
        await gate.arrival()
        // By now it has read what other devices name, and the system does not let it go on.
        try await other.add("shared")
        _ = await other.store.run()
        try await other.store.dismissDevice(await store.device)
        suspended.clock.pass(days: 31)
        #expect(await other.store.run().evicted == 1)
        await gate.open()
        #expect(await run.value.deleted == 1)
        #expect(!other.isStored("shared"))
        #expect(try await other.read("shared") == StoreFixture.bytes("shared"))
        #expect(try await other.read("own") == StoreFixture.bytes("own"))
    }

    /// - Parameter isDamaged: whether a document cannot be read, so that it is not known what is named.
    @Test(arguments: [false, true])
    func `what a lost device has announced to delete is deleted by the one that dismisses it`(
        isDamaged: Bool
    ) async throws {
        let lost = try StoreFixture(device: "lost")
        let other = try StoreFixture(remote: lost.remote, device: "other")
        for name in ["kept", "removed", "again"] { try await lost.add(name) }
        try await other.add("own")
        for device in [lost, other] { _ = await device.store.run() }
        for name in ["removed", "again"] { try await lost.store.remove(name: name) }
        _ = await lost.store.run()
        try await lost.add("again")
        _ = await lost.store.run()
        #expect(lost.remote.documentNames("intent-").count == 1)
        let id = await lost.store.device
        let damaged = "snapshot-\(id.rawValue)-000000000000001.json"
        if isDamaged { try await lost.tier.putDocument(Data("{}".utf8), named: damaged) }
        try await other.store.dismissDevice(id)
        await other.runDaily(4)
        #expect(lost.isStored("removed") == isDamaged)
        // One was added again, and is announced still.
        for name in ["again", "kept"] { #expect(lost.isStored(name)) }
        #expect(try await other.store.rebuildCatalog().photos == 3)
    }
}
