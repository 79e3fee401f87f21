import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

/// Folders that come from backups.
@Suite(.serialized) struct CopiedFolderTests {
    /// - Parameter isCopyRemoving: whether the phone that was restored removes the photo, or the one it was copied from.
    @Test(arguments: [false, true])
    func `a folder that was copied to another phone is another device: what the one removes the other keeps`(
        isCopyRemoving: Bool
    ) async throws {
        let original = try StoreFixture(device: "original")
        try await original.add("a")
        original.clock.pass(days: 31)
        _ = await original.store.run()
        let copy = try StoreFixture(remote: original.remote, device: "copy")
        try await original.store.releaseLock()
        try await copy.restore(from: original.folder)
        let (remover, keeper) = isCopyRemoving ? (copy, original) : (original, copy)
        _ = await keeper.store.run()
        try await remover.store.remove(name: "a")
        for _ in 0..<4 {
            _ = await remover.store.run()
            _ = await keeper.store.run()
            original.clock.pass(days: 1.01)
        }
        #expect(await original.store.device != copy.store.device)
        #expect(keeper.photoFiles == [])
        #expect(try await keeper.read("a") == original.bytes["a"])
    }

    @Test func `an old backup of the catalog on the same phone loses nothing`() async throws {
        let device = try StoreFixture()
        for name in ["kept", "removed"] { try await device.add(name) }
        _ = await device.store.run()
        try await device.store.releaseLock()
        let backup = device.files.appendingPathComponent("backup")
        try FileManager.default.copyItem(at: device.folder, to: backup)
        try await device.add("later")
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 3)
        try await device.store.remove(name: "removed")
        // The photos are no part of it.
        try await device.restore(from: backup) {
            try FileManager.default.removeItem(at: $0.appendingPathComponent("photos"))
        }
        // The catalog says that it is on the device.
        #expect(try await device.read("kept") == device.bytes["kept"])
        await device.runDaily(4)
        #expect(try await device.read("kept") == device.bytes["kept"])
        _ = try await device.store.rebuildCatalog()
        #expect(try await device.read("later") == device.bytes["later"])
    }
}
