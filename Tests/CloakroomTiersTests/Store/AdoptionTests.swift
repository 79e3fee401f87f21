import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// Files that go, or become others, while the store reads them.
@Suite(.serialized) struct AdoptionTests {
    enum Change: CaseIterable {
        case removed, replaced, written

        func apply(to file: URL) throws {
            switch self {
            case .removed: try FileManager.default.removeItem(at: file)
            case .replaced: try Data("other bytes".utf8).write(to: file, options: .atomic)
            // The same file, as long as before.
            case .written:
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: Data("other".utf8))
                try handle.close()
            }
        }
    }

    /// Happens once, while a thumbnail is made of a file that the test has chosen.
    private final class Interference: Sendable {
        private let next = Mutex<(@Sendable () throws -> Void)?>(nil)

        func set(_ action: @escaping @Sendable () throws -> Void) { next.withLock { $0 = action } }

        func happen() throws {
            try next.withLock { next in
                defer { next = nil }
                return next
            }?()
        }
    }

    @Test(arguments: Change.allCases)
    func `a file without a record that changes while it is read does not become a photo`(change: Change) async throws {
        let interference = Interference()
        let device = try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try interference.happen() })
        let data = StoreFixture.bytes("orphan")
        let file = device.photoFile(data, format: "jpg")
        try data.write(to: file)
        interference.set { try change.apply(to: file) }
        try await device.relaunch()
        #expect(await device.store.run().uploaded == 0)
        #expect(try await device.store.thumbnails().isEmpty)
        #expect(device.photoFiles.count == (change == .removed ? 0 : 1))
        // There again, it is one.
        try data.write(to: file, options: .atomic)
        try await device.relaunch()
        #expect(await device.store.run().uploaded == 1)
        let id = try #require(try await device.store.thumbnails().first?.id)
        #expect(try await device.read(id) == data)
    }

    /// As on volumes that give a file another inode with each look.
    @Test(arguments: [false, true])
    func `a file with another inode is a photo where its size, its date and its bytes are the same`(
        hasOtherBytes: Bool
    ) async throws {
        let interference = Interference()
        let device = try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try interference.happen() })
        let data = StoreFixture.bytes("orphan")
        let file = device.photoFile(data, format: "jpg")
        let replacement = hasOtherBytes ? StoreFixture.bytes("another") : data
        @Sendable func write(_ data: Data) throws {
            try data.write(to: file, options: .atomic)
            let date = Date(timeIntervalSince1970: 1_700_000_000)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        try write(data)
        interference.set { try write(replacement) }
        try await device.relaunch()
        #expect(await device.store.run().uploaded == (hasOtherBytes ? 0 : 1))
    }

    @Test(arguments: Change.allCases)
    func `a thumbnail made of a file that changed meanwhile is not the photo's, nor is that there is none`(
        change: Change
    ) async throws {
        let interference = Interference()
        let device = try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try interference.happen() })
        interference.set { throw CloakroomError(.unavailable, "not now") }
        let id = try await device.add("a")
        #expect(try await device.store.thumbnails().first?.thumbnail == nil)
        let data = StoreFixture.bytes("a")
        let file = device.photoFile(data)
        interference.set { try change.apply(to: file) }
        _ = await device.store.run()
        #expect(try await device.store.thumbnails().first?.thumbnail == nil)
        try data.write(to: file, options: .atomic)
        _ = await device.store.run()
        #expect(try await device.store.thumbnail(of: id) == ScriptedThumbnailer.thumbnail(of: data).bytes)
    }

    @Test func `a file that is removed with its photo while it is adopted stays removed`() async throws {
        let first = try StoreFixture(device: "first")
        try await first.add("a")
        _ = await first.store.run()
        let interference = Interference()
        let removed = Mutex<CloakroomError.Code?>(nil)
        let store = Mutex<TieredPhotoStore?>(nil)
        let device = try StoreFixture(
            remote: first.remote, device: "second",
            thumbnailer: ScriptedThumbnailer { _ in
                try interference.happen()
                guard let store = store.withLock({ $0 }), let id = try await store.photo(named: "a") else { return }
                let code = await CloakroomError.code { try await store.remove(id) }
                removed.withLock { $0 = code }
            })
        _ = try await device.store.rebuildCatalog()
        // As a fetch leaves it that was not recorded.
        try StoreFixture.bytes("a").write(to: device.photoFile(StoreFixture.bytes("a")))
        try await device.relaunch()
        let relaunched = device.store
        store.withLock { $0 = relaunched }
        _ = await relaunched.run()
        #expect(removed.withLock { $0 } == nil)
        #expect(try await relaunched.thumbnails().isEmpty)
        #expect(device.photoFiles == [])
    }
}
