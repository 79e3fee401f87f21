import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Whose photos a store has, and who is signed in.
@Suite(.serialized) struct AccountTests {
    @Test func `another account stops everything until it is accepted, and its photos are uploaded anew then`()
        async throws
    {
        let device = try StoreFixture()
        let ids = try await device.addOld("a", "b")
        let kept = try await device.add("kept")
        _ = await device.store.run()
        device.tier.signIn("another")
        let added = try await device.add("c")
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .accountChanged)
        #expect(report.alarms.map(\.kind) == [.accountChanged])
        #expect(device.remote.account("another") == ScriptedStore.Account())
        #expect(await CloakroomError.code { _ = try await device.store.open(ids[0]) } == .accountChanged)
        device.tier.signIn("user")
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.store.alarms().isEmpty)
        device.tier.signIn("another")
        _ = await device.store.run()
        try await device.acceptAccount()
        _ = await device.store.run()
        #expect(device.remote.account("another").objects.count == 2)
        #expect(try await device.read(kept) == device.bytes["kept"])
        #expect(try await device.read(added) == device.bytes["c"])
        #expect(await CloakroomError.code { _ = try await device.store.open(ids[0]) } == .accountChanged)
    }

    @Test func `the alarm of another account cannot be dismissed, and no photo goes to that account`() async throws {
        let device = try StoreFixture()
        for name in ["a", "b"] { try await device.add(name) }
        _ = await device.store.run()
        device.tier.signIn("another")
        try await device.add("c")
        #expect(await device.store.run().alarms.map(\.kind) == [.accountChanged])
        #expect(
            await CloakroomError.code { try await device.store.dismissAlarm(.accountChanged) } == .accountChanged)
        #expect(try await device.store.alarms().map(\.kind) == [.accountChanged])
        device.clock.pass(days: 31)
        #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        #expect(device.remote.account("another") == ScriptedStore.Account())
        #expect(device.photoFiles.count == 3)
    }

    @Test func `what accepting an account does is counted before, and is done for that account alone`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("cold")
        try await device.add("kept")
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.store.accountChange() == nil)
        device.tier.signIn("another")
        try await device.add("new")
        let change = try #require(try await device.store.accountChange())
        #expect(
            change
                == AccountChange(
                    account: ScriptedTier.identity(of: "another"), photoCount: 2, byteCount: 6000, unreachableCount: 1))
        device.tier.signIn("third")
        #expect(
            await CloakroomError.code { try await device.store.acceptAccount(change.account) } == .accountChanged)
        device.tier.signIn("another")
        try await device.store.acceptAccount(change.account)
        device.tier.signIn("third")
        #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        #expect(device.remote.account("third") == ScriptedStore.Account())
        device.tier.signIn("another")
        _ = await device.store.run()
        #expect(device.remote.account("another").objects.count == 2)
        #expect(try await device.store.accountChange() == nil)
    }

    @Test func `photos whose catalog was lost are not uploaded to another account`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        device.tier.signIn("another")
        try await device.destroyCatalog()
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .accountChanged)
        #expect(report.alarms.map(\.kind) == [.accountChanged])
        #expect(device.remote.account("another") == ScriptedStore.Account())
        device.tier.signIn("user")
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.read("a") == device.bytes["a"])
    }

    @Test func `photos of another account are not added when the catalog is made anew`() async throws {
        let device = try StoreFixture()
        try await device.add("mine")
        _ = await device.store.run()
        let other = try StoreFixture(remote: device.remote, device: "other")
        other.tier.signIn("another")
        try await other.add("theirs")
        _ = await other.store.run()
        device.tier.signIn("another")
        #expect(await CloakroomError.code { _ = try await device.store.rebuildCatalog() } == .accountChanged)
        #expect(try await device.store.photo(named: "theirs") == nil)
        #expect(try await device.store.thumbnails().count == 1)
    }

    @Test func `what was removed in a former account keeps no run of the present one busy`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        try await device.store.remove(name: "a")
        device.tier.signIn("another")
        _ = await device.store.run()
        try await device.acceptAccount()
        _ = await device.store.run()
        device.remote.resetRequests()
        await device.runDaily(3)
        #expect(device.remote.requests == [:])
        #expect(device.isStored("a"))
    }
}
