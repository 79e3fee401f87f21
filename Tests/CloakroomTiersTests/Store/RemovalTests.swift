import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

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

    /// 0 is a photo whose file is here and nowhere else, as far as the catalog knows, 2 one that is in both places.
    @Test(arguments: [(0, nil, 0), (0, "scripted:user", 1), (2, "scripted:user", 1)] as [(Int64, String?, Int64)])
    func `a removed photo is to be deleted in the cold tier when it is there, or an upload has begun`(
        state: Int64, tier: String?, tombstones: Int64
    ) async throws {
        let device = try TestDevice("a", ScriptedStore())
        try await device.add(TestPhoto(1))
        try await device.run(
            "UPDATE photo SET state = ?, tier = ?", [.integer(state), tier.map { .text($0) } ?? .null])
        let id = try #require(try await device.integers("SELECT id FROM photo").first)
        try await device.removeRow(id)
        #expect(try await device.integers("SELECT count(*) FROM tombstone") == [tombstones])
        #expect(try await device.integers("SELECT count(*) FROM photo") == [0])
    }

    /// Earlier versions did not record up to which photo a snapshot has named them.
    @Test(arguments: [false, true])
    func `a photo that a snapshot has ever named is to be deleted, and one that was added later is not`(
        isOfEarlierVersion: Bool
    ) async throws {
        let device = try TestDevice("a", ScriptedStore())
        try await device.add(TestPhoto(1))
        try await device.publish()
        try await device.run("UPDATE photo SET pinned = 1")
        if isOfEarlierVersion { try await device.run("DELETE FROM setting WHERE name = 'shared_photo'") }
        #expect(try await device.integers("SELECT count(*) FROM photo WHERE segment IS NOT NULL") == [0])
        let id = try #require(try await device.integers("SELECT id FROM photo").first)
        try await device.removeRow(id)
        #expect(try await device.integers("SELECT count(*) FROM tombstone") == [1])
        guard !isOfEarlierVersion else { return }
        try await device.add(TestPhoto(2))
        let later = try #require(try await device.integers("SELECT id FROM photo").first)
        try await device.removeRow(later)
        #expect(try await device.integers("SELECT count(*) FROM tombstone") == [1])
    }

    @Test func `a photo that is removed while the snapshot that names it is uploaded is to be deleted`() async throws {
        let interruption = Interruption()
        let device = try TestDevice("a", ScriptedStore(), gate: interruption.gate)
        try await device.add(TestPhoto(1))
        let id = try #require(try await device.integers("SELECT id FROM photo").first)
        interruption.set(on: .putDocument) { try await device.removeRow(id) }
        try await device.publish()
        #expect(try await device.integers("SELECT count(*) FROM tombstone") == [1])
    }
}

extension TestDevice {
    fileprivate func removeRow(_ id: Int64) throws {
        _ = try catalog.remove(nil, of: id, tier: ScriptedTier.identity().description, arrival: nil, on: Date())
    }
}
