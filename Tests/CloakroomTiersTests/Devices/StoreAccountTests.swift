import CloakroomKit
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Whose photos a folder has: by its catalog, and by a file beside it.
@Suite(.serialized) struct StoreAccountTests {
    private func identity(of device: StoreFixture) -> URL { device.folder.appendingPathComponent("identity") }

    private func owner(of device: StoreFixture) throws -> FolderOwner { try StoreFolder(device.folder).readOwner() }

    private let user = FolderOwner.account(ScriptedTier.identity().description)

    @Test func `thumbnails and devices of another account are none of the store's`() async throws {
        let first = try StoreFixture()
        try await first.add("a")
        _ = await first.store.run()
        let device = try StoreFixture(remote: first.remote, device: "rebuilt")
        _ = try await device.store.rebuildCatalog()
        let id = try #require(try await device.store.photo(named: "a"))
        let mine = await first.store.device
        let account = first.remote.account()
        first.remote.change("another") { $0 = account }
        device.tier.signIn("another")
        #expect(await CloakroomError.code { _ = try await device.store.thumbnail(of: id) } == .accountChanged)
        #expect(await CloakroomError.code { _ = try await device.store.devices() } == .accountChanged)
        #expect(await CloakroomError.code { try await device.store.dismissDevice(mine) } == .accountChanged)
        #expect(first.remote.account("another") == account)
        device.tier.signIn("user")
        #expect(try await device.store.thumbnail(of: id) != nil)
        #expect(try await device.store.devices().map(\.id) == [mine])
        try await device.store.dismissDevice(mine)
        #expect(try await device.store.devices() == [])
    }

    @Test(arguments: [nil, Data(), Data(count: 40), Data([0xFF, 0xFE, 0x41]), Data(repeating: 0x41, count: 5000)])
    func `whose photos these are is written again by the catalog, and holds when that is lost`(damage: Data?)
        async throws
    {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        #expect(try owner(of: device) == user)
        try FileManager.default.removeItem(at: identity(of: device))
        try damage?.write(to: identity(of: device))
        device.tier.signIn("another")
        try await device.add("b")
        #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        #expect(try owner(of: device) == user)
        try await device.destroyCatalog()
        #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        #expect(device.remote.account("another") == ScriptedStore.Account())
        device.tier.signIn("user")
        #expect(await device.store.run().stoppedBy == nil)
        for name in ["a", "b"] { #expect(device.isStored(name)) }
    }

    @Test(arguments: [nil, Data(), Data(count: 40)])
    func `photos whose account is known nowhere go to one only when the user has said so`(damage: Data?) async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        try FileManager.default.removeItem(at: identity(of: device))
        try damage?.write(to: identity(of: device))
        device.tier.signIn("another")
        try await device.destroyCatalog()
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .accountChanged)
        #expect(report.alarms.map(\.kind) == [.accountChanged])
        #expect(await CloakroomError.code { _ = try await device.store.devices() } == .accountChanged)
        #expect(device.remote.account("another") == ScriptedStore.Account())
        try await device.acceptAccount()
        #expect(await device.store.run().stoppedBy == nil)
        #expect(device.remote.account("another").objects.count == 1)
        #expect(try owner(of: device) == .account(ScriptedTier.identity(of: "another").description))
    }

    @Test func `a catalog and a file that name different accounts stop everything`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        try Data(ScriptedTier.identity(of: "another").description.utf8).write(to: identity(of: device))
        for account in ["user", "another"] {
            device.tier.signIn(account)
            try await device.add("for \(account)")
            #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        }
        #expect(device.remote.account("another") == ScriptedStore.Account())
        #expect(device.remote.account().objects.count == 1)
        device.tier.signIn("user")
        try await device.acceptAccount()
        // The process ends, and another one begins.
        try await device.relaunch()
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try owner(of: device) == user)
        #expect(device.remote.account().objects.count == 3)
    }

    @Test func `a store that was never in an account is the first one's, whoever looked at its devices before`()
        async throws
    {
        let device = try StoreFixture()
        #expect(try await device.store.devices() == [])
        #expect(try owner(of: device) == .next)
        device.tier.signIn("another")
        try await device.add("a")
        #expect(await device.store.run().stoppedBy == nil)
        #expect(device.remote.account("another").objects.count == 1)
    }

    @Test func `a store that was never in an account is the first one's, also when its catalog was damaged`()
        async throws
    {
        let device = try StoreFixture()
        try await device.add("a")
        try await device.destroyCatalog()
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try owner(of: device) == user)
        #expect(device.isStored("a"))
    }

    @Test func `a folder of an earlier version that was in no account has no file, and gets one`() async throws {
        let device = try StoreFixture()
        try FileManager.default.removeItem(at: identity(of: device))
        #expect(try device.secondProcess().folder.readOwner() == FolderOwner.none)
        try await device.relaunch()
        #expect(try owner(of: device) == .next)
        try await device.store.releaseLock()
        try FileManager.default.removeItem(at: identity(of: device))
        try await device.add("a")
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try owner(of: device) == user)
    }
}
