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

    @Test(arguments: [
        ("7 100", "7 100", true), ("7 100", "7", true), ("7 100", "7 90", true), ("9 100", "7 100", true),
        ("9 200", "7 100", false), ("9 100", "7", false), ("7", "100 7", false),
    ])
    func `a folder is the same by its inode, or by when the system changed its lock`(
        place: String, known: String, isSame: Bool
    ) {
        #expect(TieredPhotoStore.isSamePlace(place, known) == isSame)
    }

    @Test func `a volume that is mounted with other inodes has the same device, a copy another one`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        let before = await device.store.device
        let lock = device.folder.appendingPathComponent("lock")
        let place = try #require(TieredPhotoStore.inode(lock))
        let changed = try #require(place.split(separator: " ").last)
        func launch(_ place: String) async throws -> DeviceID {
            try await device.store.releaseLock()
            let clock = device.clock
            let store = try TieredPhotoStore(
                folder: device.folder, tier: device.tier, thumbnailer: device.thumbnailer, policy: RetentionPolicy(),
                conditions: device.conditions, clock: { clock.now }, place: { _ in place })
            try await store.add(device.write("\(place)", Data(place.utf8)), name: place, takenAt: clock.now)
            #expect(await store.run().stoppedBy == nil)
            defer { _ = store }
            let id = await store.device
            try await store.releaseLock()
            return id
        }
        #expect(try await launch("1 \(changed)") == before)
        #expect(try await launch("2 \(changed)") == before)
        #expect(try await launch("3 1") != before)
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
