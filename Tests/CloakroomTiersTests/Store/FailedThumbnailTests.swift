import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// Photos of which no thumbnail could be made: they stay on the device until one can.
@Suite(.serialized) struct FailedThumbnailTests {
    /// Reads no picture until it is repaired.
    private final class Decoder: Sendable {
        private let state = Mutex((isBroken: true, attempts: 0))

        var attempts: Int { state.withLock { $0.attempts } }

        func repair() { state.withLock { $0.isBroken = false } }

        func read() throws {
            let isBroken = state.withLock { state in
                state.attempts += 1
                return state.isBroken
            }
            if isBroken { throw CloakroomError(.unreadableFile, "the format is not known") }
        }
    }

    private let decoder = Decoder()

    private func fixture() throws -> StoreFixture {
        let decoder = decoder
        return try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try decoder.read() })
    }

    @Test func `a thumbnail that could not be made is made a week later, and the photo leaves then`() async throws {
        let device = try fixture()
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 0)
        #expect(try await device.store.usage().withoutThumbnailCount == 1)
        decoder.repair()
        device.clock.pass(days: 6)
        #expect(await device.store.run().evicted == 0)
        device.clock.pass(days: 2)
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.place(of: id) == .cold)
        #expect(try await device.store.usage().withoutThumbnailCount == 0)
        #expect(device.remote.account().thumbnails.count == 1)
    }

    @Test func `what has no picture is looked at once a week, however many runs there are`() async throws {
        let device = try fixture()
        try await device.add("a")
        for _ in 0..<3 { _ = await device.store.run() }
        #expect(decoder.attempts == 2)
        device.clock.pass(days: 8)
        for _ in 0..<3 { _ = await device.store.run() }
        #expect(decoder.attempts == 3)
        #expect(try await device.store.usage().withoutThumbnailCount == 1)
    }

    @Test func `a photo that is added again gets the thumbnail that could not be made before`() async throws {
        let device = try fixture()
        let id = try await device.add("a")
        #expect(try await device.store.thumbnails().first?.thumbnail == nil)
        decoder.repair()
        #expect(try await device.add("a") == id)
        let thumbnail = ScriptedThumbnailer.thumbnail(of: StoreFixture.bytes("a")).bytes
        #expect(try await device.store.thumbnails().first?.thumbnail == thumbnail)
    }

    @Test func `a thumbnail that was fetched while another one could not be made stays`() async throws {
        let first = try StoreFixture(device: "first")
        try await first.add("a")
        _ = await first.store.run()
        let store = Mutex<TieredPhotoStore?>(nil)
        let device = try StoreFixture(
            remote: first.remote, device: "second",
            thumbnailer: ScriptedThumbnailer { _ in
                guard let store = store.withLock({ $0 }), let id = try await store.photo(named: "a") else { return }
                _ = try await store.thumbnail(of: id)
                throw CloakroomError(.unreadableFile, "the format is not known")
            })
        _ = try await device.store.rebuildCatalog()
        let rebuilt = device.store
        store.withLock { $0 = rebuilt }
        try await device.add("a")
        let thumbnail = ScriptedThumbnailer.thumbnail(of: StoreFixture.bytes("a")).bytes
        #expect(try await rebuilt.thumbnails().first?.thumbnail == thumbnail)
    }
}
