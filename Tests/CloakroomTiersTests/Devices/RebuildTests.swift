import CloakroomCrypto
import CloakroomKit
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

@Suite(.serialized) struct RebuildTests {
    private let store = ScriptedStore()

    private func put(_ photo: TestPhoto) {
        store.change { $0.objects[photo.key] = .init(bytes: photo.bytes, format: "jpg", tag: "t\(photo.number)") }
    }

    @Test func `a new device knows all photos by snapshots and the listing, and reads no original`() async throws {
        let first = try TestDevice("a", store)
        for number in 1...3 {
            try await first.add(TestPhoto(number))
            if number < 3 { put(TestPhoto(number)) }
        }
        try await first.publish()
        put(TestPhoto(4))
        let second = try TestDevice("b", store)
        store.resetRequests()
        let report = try await second.rebuild()
        var expected = RebuildReport()
        (expected.photos, expected.unnamed, expected.missing) = (4, 1, 1)
        #expect(report == expected)
        #expect(store.requests.filter { $0.key != .identity } == [.documents: 1, .document: 1, .list: 1])
        #expect(try await second.photos(in: [.cold]) == [TestPhoto(1).md5, TestPhoto(2).md5, TestPhoto(4).md5])
        #expect(try await second.photos(in: [.missing]) == [TestPhoto(3).md5])
        #expect(
            try await second.integers("SELECT count(*) FROM photo WHERE verified_at > 0 OR segment IS NOT NULL") == [0])
        #expect(try await second.integers("SELECT taken_at FROM photo WHERE sha256 IS NOT NULL") == [1000, 1000, 1000])
        #expect(try await second.integers("SELECT count(*) FROM photo_name") == [3])
        #expect(try await second.rebuild().photos == 4)
    }

    @Test func `a photo that one device removed and another one names stays, and one that is announced does not come`()
        async throws
    {
        let devices = [try TestDevice("a", store), try TestDevice("b", store)]
        for device in devices {
            for number in 1...2 { try await device.add(TestPhoto(number)) }
            try await device.publish()
        }
        for number in 1...3 { put(TestPhoto(number)) }
        for number in 1...2 { try await devices[0].remove(TestPhoto(number)) }
        try await devices[1].remove(TestPhoto(2))
        for device in devices {
            try await device.publish()
            _ = try await device.advance()
        }
        let third = try TestDevice("c", store)
        _ = try await third.rebuild()
        #expect(try await third.photos(in: [.cold]) == [TestPhoto(1).md5, TestPhoto(3).md5])
    }

    @Test func `names of other bytes stay those of this device, and are counted`() async throws {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        try await first.add(TestPhoto(1), named: "x")
        try await first.publish()
        put(TestPhoto(1))
        try await second.add(TestPhoto(2), named: "x")
        let report = try await second.rebuild()
        #expect(report.nameConflicts == 1)
        #expect(report.photos == 2)
        #expect(
            try await second.integers("SELECT byte_count FROM photo JOIN photo_name ON photo = id WHERE md5 <> sha256")
                .count == 1)
        #expect(try await second.photos(in: [.hot]) == [TestPhoto(2).md5])
    }

    @Test func `a name that was removed does not come back by what this device has published`() async throws {
        let device = try TestDevice("a", store)
        for name in ["kept", "removed"] { try await device.add(TestPhoto(1), named: name) }
        try await device.publish()
        try await device.run("DELETE FROM photo_name WHERE name = 'removed'")
        _ = try await device.rebuild()
        #expect(try await device.integers("SELECT count(*) FROM photo_name WHERE name = 'removed'") == [0])
        #expect(try await device.integers("SELECT count(*) FROM photo_name") == [1])
        // Where the catalog has no name of it, they count.
        try await device.run("DELETE FROM photo_name")
        _ = try await device.rebuild()
        #expect(try await device.integers("SELECT count(*) FROM photo_name") == [2])
    }

    @Test func `of two devices' photos with one name the one that was published last has it`() async throws {
        let devices = [try TestDevice("a", store), try TestDevice("b", store)]
        for (number, device) in devices.enumerated() {
            put(TestPhoto(number))
            try await device.add(TestPhoto(number), named: "x")
            try await device.publish()
            store.clock.pass(days: 1)
        }
        let third = try TestDevice("c", store)
        #expect(try await third.rebuild().nameConflicts == 1)
        let owner = try await third.integers("SELECT photo FROM photo_name WHERE name = 'x'")
        #expect(try await third.md5s(owner) == [TestPhoto(1).md5])
    }

    @Test func `an object of another size than a device names is not the photo`() async throws {
        let first = try TestDevice("a", store)
        try await first.add(TestPhoto(1))
        try await first.publish()
        store.change { $0.objects[TestPhoto(1).key] = .init(bytes: Data([1]), format: "jpg", tag: "t") }
        let second = try TestDevice("b", store)
        #expect(try await second.rebuild().missing == 1)
    }

    @Test func `a photo that no device has read, and that is not listed, does not come`() async throws {
        let first = try TestDevice("a", store)
        try await first.add(TestPhoto(1))
        try await first.run("UPDATE photo SET sha256 = NULL, state = 4, tier = 'scripted:user', remote_key = 'k'")
        try await first.publish()
        let second = try TestDevice("b", store)
        #expect(try await second.rebuild() == RebuildReport())
        #expect(try await second.integers("SELECT count(*) FROM photo") == [0])
    }

    @Test func `what devices say of a photo counts for one without a name, whose dates are guesses`() async throws {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        try await first.add(TestPhoto(1))
        try await first.run("UPDATE photo SET pinned = 1, taken_at = 7, added_at = 8")
        try await first.publish()
        put(TestPhoto(1))
        try await second.add(TestPhoto(1))
        try await second.run("DELETE FROM photo_name")
        _ = try await second.rebuild()
        for (column, value) in [("pinned", Int64(1)), ("taken_at", 7), ("added_at", 8)] {
            #expect(try await second.integers("SELECT \(column) FROM photo") == [value], "\(column)")
        }
    }

    @Test func `nothing is added before the listing is complete, and unreadable snapshots are counted`() async throws {
        let first = try TestDevice("a", store)
        try await first.add(TestPhoto(1))
        try await first.publish()
        put(TestPhoto(1))
        let second = try TestDevice("b", store)
        second.tier.script.add(.half(.scriptedOutage), on: .list)
        await #expect(throws: CloakroomError.self) { _ = try await second.rebuild() }
        let damaged = "snapshot-zz-000000000000001.json"
        store.change { $0.documents[damaged] = .init(bytes: Data("{}".utf8), modified: .now) }
        #expect(try await second.integers("SELECT count(*) FROM photo") == [0])
        let report = try await second.rebuild()
        #expect(report.photos == 1)
        #expect(report.unreadableDocuments == 1)
    }

    /// One that may be in the tier has a tombstone; of another one only this device's removals tell.
    @Test(arguments: [true, false])
    func `a photo that is removed while others are merged does not come back`(isInTier: Bool) async throws {
        let device = try TestDevice("a", store)
        // In the order in which they are merged: the one that is removed is on the second page.
        let digests = (0..<RebuildStaging.page + 500).map { (photo: TestPhoto($0), sha256: TestPhoto($0).sha256) }
        let photos = digests.sorted { $0.sha256.lexicographicallyPrecedes($1.sha256) }.map { $0.photo }
        let removed = photos[RebuildStaging.page + 200]
        try await device.add(removed)
        let entries = photos.map { photo in
            SnapshotEntry(
                names: ["photo \(photo.number)"], sha256: photo.sha256, md5: photo.md5,
                byteCount: Int64(photo.bytes.count), format: "jpg", takenAt: 1000, addedAt: 2000, isPinned: false)
        }
        let own = await device.id
        let author = isInTier ? DeviceID.random() : own
        let document = try SnapshotDocument(entries: entries).encoded()
        store.change {
            $0.documents[DeviceDocumentName.snapshot(author, sequence: 1).text] = .init(bytes: document, modified: .now)
        }
        // As the app does it, when the first page is being written.
        let tombstone = """
            INSERT INTO tombstone (md5, sha256, byte_count, format, tier, removed_at)
            VALUES (X'\(removed.key)', X'\(removed.sha256.hexadecimal)', 1, 'jpg', '\(ScriptedTier.identity())', 1);
            """
        try await device.run(
            """
            CREATE TRIGGER removing AFTER INSERT ON photo WHEN NEW.md5 = X'\(photos[0].key)'
            BEGIN
                DELETE FROM photo_name WHERE photo = (SELECT id FROM photo WHERE md5 = X'\(removed.key)');
                DELETE FROM photo WHERE md5 = X'\(removed.key)';
                \(isInTier ? tombstone : "")
            END
            """)
        #expect(try await device.rebuild().photos == photos.count - 1)
        #expect(try await device.integers("SELECT id FROM photo WHERE md5 = X'\(removed.key)'").isEmpty)
        if isInTier { _ = try await device.advance() }
        #expect(try await device.integers("SELECT count(*) FROM tombstone") == [isInTier ? 1 : 0])
    }

    @Test func `a store makes its catalog anew from its files, and leaves strange ones where they are`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rebuild-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = store.clock
        let tiers = try TieredPhotoStore(
            folder: folder, tier: ScriptedTier(store), thumbnailer: ScriptedThumbnailer(), policy: RetentionPolicy(),
            conditions: UnrestrictedConditions(), clock: { clock.now })
        let photos = folder.appendingPathComponent("photos")
        let photo = TestPhoto(1)
        try photo.bytes.write(to: photos.appendingPathComponent("\(photo.sha256.hexadecimal).jpg"))
        try Data([1]).write(to: photos.appendingPathComponent("\(TestPhoto(2).sha256.hexadecimal).jpg"))
        try Data([2]).write(to: photos.appendingPathComponent("readme.txt"))
        put(photo)
        let report = try await tiers.rebuildCatalog()
        var expected = RebuildReport()
        (expected.photos, expected.adopted, expected.ignoredFiles) = (1, 1, 2)
        #expect(report == expected)
        #expect(try FileManager.default.contentsOfDirectory(atPath: photos.path).count == 3)
    }
}
