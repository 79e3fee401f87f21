import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct RemovalTests {
    /// - Parameter isRecorded: whether its arrival is in the catalog before it is removed.
    @Test(arguments: [false, true])
    func `a photo that is removed right after it arrived does not come back`(isRecorded: Bool) async throws {
        let first = try StoreFixture(device: "first")
        try await first.add("a")
        _ = await first.store.run()
        // Known from the listing alone, so that only the file that arrives tells its digest.
        first.remote.change { $0.documents = [:] }
        let device = try StoreFixture(remote: first.remote, device: "second")
        #expect(try await device.store.rebuildCatalog().unnamed == 1)
        let id = try #require(try await device.store.thumbnails().first?.id)
        #expect(try await device.read(id) == first.bytes["a"])
        if isRecorded { try await device.store.releaseLock() }
        try await device.store.remove(id)
        #expect(device.photoFiles == [])
        try await device.relaunch()
        _ = await device.store.run()
        #expect(device.photoFiles == [])
        #expect(try await device.store.thumbnails().isEmpty)
    }
}
