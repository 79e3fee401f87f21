import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Catalogs that are made anew, by whole stores.
@Suite(.serialized) struct StoreRebuildTests {
    private func entry(_ digit: String, byteCount: Int64) -> String {
        let (sha256, md5) = (String(repeating: digit, count: 64), String(repeating: digit, count: 32))
        let digests = #""sha256":"\#(sha256)","md5":"\#(md5)""#
        return #"{\#(digests),"byteCount":\#(byteCount),"format":"jpg","takenAt":1,"addedAt":1}"#
    }

    @Test func `a snapshot that cannot be read is passed over, and counted, also of a device that was given up`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        try await first.add("a")
        _ = await first.store.run()
        try await first.tier.putDocument(Data("damaged".utf8), named: "snapshot-lost-000001800000000.json")
        let second = try StoreFixture(remote: first.remote, device: "second")
        #expect(try await second.store.rebuildCatalog().unreadableDocuments == 1)
        try await second.store.dismissDevice(try #require(DeviceID(rawValue: "lost")))
        let report = try await second.store.rebuildCatalog()
        #expect(report.unreadableDocuments == 1)
        #expect(report.photos == 1 && report.unnamed == 0)
        #expect(try await second.read("a") == first.bytes["a"])
    }

    @Test func `sizes that no photo has do not get into the catalog`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        let entries = [entry("a", byteCount: .max), entry("b", byteCount: .max)].joined(separator: ",")
        try await device.tier.putDocument(
            Data(#"{"version":1,"entries":[\#(entries)]}"#.utf8), named: "snapshot-x-000001800000000.json")
        #expect(try await device.store.rebuildCatalog().unreadableDocuments == 1)
        // Their sum would be none.
        #expect(try await device.store.usage().photoCount == 1)
        #expect(try await device.store.downloadPlan().photoCount == 0)
    }

    @Test func `a photo that is removed meanwhile stays removed`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .list, moment == .after { await gate.pass() }
        })
        for name in ["kept", "removed"] { try await device.add(name) }
        _ = await device.store.run()
        let store = device.store
        let rebuild = Task { try await store.rebuildCatalog() }
        await gate.arrival()
        try await store.remove(name: "removed")
        await gate.open()
        #expect(try await rebuild.value.photos == 1)
        #expect(try await store.photo(named: "removed") == nil)
        #expect(try await store.thumbnails().count == 1)
    }

    @Test func `a photo that is removed meanwhile, and was not uploaded yet, does not come from another device`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        try await first.add("removed")
        _ = await first.store.run()
        let gate = Gate()
        let second = try StoreFixture(
            remote: first.remote, device: "second",
            gate: { call, moment in
                if call.kind == .list, moment == .after { await gate.pass() }
            })
        try await second.add("removed")
        let store = second.store
        let rebuild = Task { try await store.rebuildCatalog() }
        await gate.arrival()
        try await store.remove(name: "removed")
        await gate.open()
        #expect(try await rebuild.value.photos == 0)
        #expect(try await store.thumbnails().isEmpty)
    }

    @Test func `a photo that is removed right after the catalog was made anew goes from the tier, too`() async throws {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await first.add("a")
        _ = await first.store.run()
        try await second.add("b")
        _ = await second.store.run()
        let former = try #require(try await second.store.devices().first { !$0.isThisOne })
        try await second.store.dismissDevice(former.id)
        try await second.add("a")
        #expect(try await second.store.rebuildCatalog().photos == 2)
        try await second.store.remove(name: "a")
        await second.runDaily(4)
        #expect(!second.isStored("a"))
        #expect(try await second.store.rebuildCatalog().photos == 1)
    }

    /// - Parameter isAddedAgain: by the app, without its file; otherwise it is found by its file.
    @Test(arguments: [false, true])
    func `a photo that is removed before a lost catalog was made anew does not come back`(
        isAddedAgain: Bool
    ) async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        if isAddedAgain {
            device.clock.pass(days: 31)
            #expect(await device.store.run().evicted == 1)
        }
        try await device.destroyCatalog()
        device.tier.signIn(nil)
        if isAddedAgain { try await device.add("a") }
        #expect(await device.store.run().stoppedBy?.code == .unauthorized)
        let id = try #require(try await device.store.thumbnails().first?.id)
        try await device.store.remove(id)
        device.tier.signIn("user")
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.store.thumbnails().isEmpty)
        // What a lost device names is kept until the user gives it up.
        let former = try #require(try await device.store.devices().first { !$0.isThisOne })
        try await device.store.dismissDevice(former.id)
        await device.runDaily(4)
        #expect(!device.isStored("a"))
    }
}
