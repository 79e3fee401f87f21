import CloakroomKit
import CloakroomSQLite
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Catalogs whose bytes the disk has changed.
@Suite(.serialized) struct DamagedCatalogTests {
    private static let pageSize = 4096

    /// A store with photos that left the device, and some that did not; its catalog has no log, and no one writes to it.
    private func filled(_ count: Int) async throws -> StoreFixture {
        let device = try StoreFixture()
        for number in 0..<count {
            try await device.add("photo\(number)")
            if number == count * 2 / 3 { device.clock.pass(days: 31) }
        }
        #expect(await device.store.run().evicted == count * 2 / 3 + 1)
        try await device.store.releaseLock()
        return device
    }

    private func catalog(in folder: URL) -> URL { folder.appendingPathComponent("catalog.sqlite") }

    private func damage(_ pages: some Sequence<Int>, of folder: URL) throws {
        let file = try FileHandle(forUpdating: catalog(in: folder))
        for page in pages {
            try file.seek(toOffset: UInt64(page * Self.pageSize))
            try file.write(contentsOf: Data(repeating: 0xAA, count: Self.pageSize))
        }
        try file.close()
    }

    private func pageCount(of folder: URL) throws -> Int {
        try Data(contentsOf: catalog(in: folder)).count / Self.pageSize
    }

    /// What a launch does with a catalog: whatever is wrong with it is found out then.
    private func use(_ device: StoreFixture) async {
        _ = await device.store.run()
        _ = try? await device.store.rebuildCatalog()
    }

    private func expectAll(_ bytes: [String: Data], in device: StoreFixture, _ comment: Comment) async throws {
        #expect(await device.store.run().stoppedBy == nil, comment)
        for (name, bytes) in bytes {
            let read = try? await device.read(name)
            #expect(read == bytes, comment)
        }
        #expect(await CloakroomError.code { try await device.add("new") } == nil, comment)
    }

    @Test func `a store does not go on in a catalog that another process has moved aside`() async throws {
        let device = try await filled(6)
        try Data().write(to: catalog(in: device.folder).appendingPathExtension("damaged"))
        let other = try device.secondProcess()
        #expect(await other.run().stoppedBy == nil)
        try await other.releaseLock()
        #expect(await CloakroomError.code { try await device.add("late") } == .storeFailed)
        #expect(await !device.store.isWriter)
        try await device.relaunch()
        for number in 0..<6 {
            #expect(try await device.read("photo\(number)") == StoreFixture.bytes("photo\(number)"))
        }
        #expect(await CloakroomError.code { try await device.add("new") } == nil)
    }

    @Test(arguments: [false, true])
    func `the policy is that of the damaged catalog where it can be read`(endsEarly: Bool) async throws {
        let device = try await filled(6)
        let chosen = RetentionPolicy(period: .forever, hotByteLimit: 77, uploadTime: .whenDue)
        try await device.store.setPolicy(chosen)
        try await device.store.releaseLock()
        try Data().write(to: catalog(in: device.folder).appendingPathExtension("damaged"))
        try await device.relaunch()
        if endsEarly {
            // As a launch that has moved the catalog aside, and recorded nothing else.
            try await device.store.releaseLock()
            let database = try SQLiteDatabase(at: catalog(in: device.folder).path)
            try database.run("DELETE FROM setting WHERE name = 'policy'")
            database.close()
            try await device.relaunch()
        }
        #expect(await device.store.policy == chosen)
        try await device.relaunch()
        #expect(await device.store.policy == chosen)
    }

    @Test func `the policy of the launch counts where that of the damaged catalog cannot be read`() async throws {
        let device = try await filled(6)
        try await device.store.setPolicy(RetentionPolicy(period: .quarter))
        try await device.destroyCatalog()
        #expect(await device.store.policy == RetentionPolicy())
    }

    @Test func `whichever page is damaged, all photos are there after the next launch`() async throws {
        let device = try await filled(30)
        for page in 0..<(try pageCount(of: device.folder)) {
            let copy = try StoreFixture(remote: device.remote)
            try await copy.restore(from: device.folder) { try damage([page], of: $0) }
            await use(copy)
            try await copy.relaunch()
            try await expectAll(device.bytes, in: copy, "page \(page)")
        }
    }

    @Test func `many damaged pages cost no photo`() async throws {
        let device = try await filled(150)
        let pages = try pageCount(of: device.folder)
        let copy = try StoreFixture(remote: device.remote)
        try await copy.restore(from: device.folder) { try damage(stride(from: 22, to: pages, by: 3), of: $0) }
        for _ in 0..<2 {
            await use(copy)
            try await copy.relaunch()
        }
        try await expectAll(device.bytes, in: copy, "\(pages) pages")
    }

    @Test func `a catalog that is gone is made anew, and all photos are there`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a", "b")
        #expect(await device.store.run().evicted == 2)
        try await device.add("c")
        _ = await device.store.run()
        try await device.loseCatalog()
        #expect(await device.store.run().stoppedBy == nil)
        for name in ["a", "b", "c"] { #expect(try await device.read(name) == device.bytes[name]) }
    }

    @Test func `photos whose catalog and account are gone are not uploaded to the next account`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        try await device.loseCatalog { try FileManager.default.removeItem(at: $0.appendingPathComponent("identity")) }
        #expect(await device.store.run().stoppedBy?.code == .accountChanged)
        #expect(!device.isStored("a"))
        #expect(device.photoFiles.count == 1)
        try await device.acceptAccount()
        #expect(await device.store.run().stoppedBy == nil)
        #expect(device.isStored("a"))
    }

    @Test func `a process that only reads moves no catalog aside`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        try damage([0], of: device.folder)
        // The first process still has the lock.
        #expect(await CloakroomError.code { _ = try device.secondProcess() } == .storeFailed)
        let names = { try FileManager.default.contentsOfDirectory(atPath: device.folder.path) }
        #expect(try !names().contains { $0.contains("corrupt") })
        try await device.relaunch()
        #expect(try names().contains { $0.contains("corrupt") })
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.read("a") == device.bytes["a"])
    }
}
