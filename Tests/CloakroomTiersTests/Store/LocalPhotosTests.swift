import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

struct LocalPhotosTests {
    private func photo(_ name: String) -> LocalPhotos.Photo {
        LocalPhotos.Photo(name: name, file: URL(fileURLWithPath: "/\(name)"), byteCount: 1, hasProof: true)
    }

    @Test func `what was said before a change is not said after it`() {
        var photos = LocalPhotos()
        photos.keep(photo("a"), 1, at: 7)
        #expect(photos.photo(1, at: 7)?.name == "a")
        #expect(photos.photo(2, at: 7) == nil)
        #expect(photos.photo(1, at: 8) == nil)
        photos.keep(photo("b"), 2, at: 8)
        #expect(photos.photo(2, at: 8)?.name == "b")
        #expect(photos.photo(1, at: 8) == nil)
    }

    @Test func `nothing is kept where the version is not known`() {
        var photos = LocalPhotos()
        photos.keep(photo("a"), 1, at: nil)
        #expect(photos.photo(1, at: nil) == nil)
        photos.keep(photo("b"), 2, at: 7)
        photos.keep(photo("a"), 1, at: nil)
        #expect(photos.photo(2, at: 7) == nil)
    }

    @Test func `no more is kept than there is room for`() {
        var photos = LocalPhotos()
        for id in 0..<5000 { photos.keep(photo("a"), Int64(id), at: 7) }
        let kept = (0..<5000).count { photos.photo(Int64($0), at: 7) != nil }
        #expect((1...1024).contains(kept))
        #expect(photos.photo(4999, at: 7) != nil)
    }

    @Test func `a photo that was opened, and then removed, is not there any more`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        for _ in 0..<2 { #expect(try await device.read(id) == device.bytes["a"]) }
        try await device.store.remove(name: "a")
        #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .noSuchPhoto)
    }

    @Test func `what another process has changed meanwhile is looked up again`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        let store = device.store
        for _ in 0..<2 {
            // The second time the view is no news, and nothing is written.
            try await store.requireLock()
            #expect(try await device.read(id) == device.bytes["a"])
            try await store.releaseLock()
        }
        let clock = device.clock
        let other = try TieredPhotoStore(
            folder: device.folder, tier: device.tier, thumbnailer: device.thumbnailer, policy: RetentionPolicy(),
            conditions: device.conditions, clock: { clock.now })
        try await other.remove(name: "a")
        // One that only reads sees each change of the one that writes.
        #expect(await CloakroomError.code { _ = try await store.open(id) } == .noSuchPhoto)
        try await other.releaseLock()
        // And when it writes again.
        try await store.requireLock()
        #expect(await CloakroomError.code { _ = try await store.open(id) } == .noSuchPhoto)
    }
}
