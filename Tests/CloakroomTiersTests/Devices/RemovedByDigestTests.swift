import CloakroomKit
import CloakroomSQLite
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// What counts as removed elsewhere where one device knows a photo's SHA-256, and another one its MD5 alone.
@Suite(.serialized) struct RemovedByDigestTests {
    private let store = ScriptedStore()
    private let photo = TestPhoto(1)

    /// A photo as a listing shows it.
    private func addUnread(_ device: TestDevice) async throws {
        try await device.run(
            """
            INSERT INTO photo (md5, byte_count, format, taken_at, added_at, state, tier, remote_key)
            VALUES (?, ?, 'dat', 1, 1, 4, 'scripted:user', 'k')
            """, [.blob(photo.md5), .integer(Int64(photo.bytes.count))])
    }

    /// A device that was made anew, has published nothing, and misses the photo in the tier.
    private func rebuilt(knowsSHA256: Bool) async throws -> TestDevice {
        let device = try TestDevice("rebuilt", store)
        try await addUnread(device)
        if knowsSHA256 {
            try await device.run("UPDATE photo SET sha256 = ?, verified_at = 0", [.blob(photo.sha256)])
        }
        return device
    }

    @Test func `a photo that a third device names by its MD5 alone is no removed one, until that one removes it`()
        async throws
    {
        let (first, third) = (try TestDevice("first", store), try TestDevice("third", store))
        let device = try await rebuilt(knowsSHA256: true)
        try await first.add(photo)
        try await addUnread(third)
        for other in [first, third] { try await other.publish() }
        try await first.remove(photo)
        try await first.publish()
        #expect(try await device.removedElsewhere() == [])
        try await third.run("DELETE FROM photo")
        try await third.publish()
        #expect(try await device.removedElsewhere() == [photo.md5])
    }

    @Test func `a photo whose SHA-256 another device learned is no removed one, though its MD5 is one there`()
        async throws
    {
        let (first, third) = (try TestDevice("first", store), try TestDevice("third", store))
        let device = try await rebuilt(knowsSHA256: false)
        try await third.add(TestPhoto(2))
        try await addUnread(first)
        for other in [first, third] { try await other.publish() }
        try await first.run("UPDATE photo SET sha256 = ?, verified_at = 0", [.blob(photo.sha256)])
        try await first.publish()
        #expect(try await device.removedElsewhere() == [])
        try await first.remove(photo)
        try await first.publish()
        #expect(try await device.removedElsewhere() == [photo.md5])
    }

    @Test(arguments: [false, true])
    func `a photo that is added again under another name after its removal is no removed one`(
        isAddedByThird: Bool
    ) async throws {
        let (first, third) = (try TestDevice("first", store), try TestDevice("third", store))
        let device = try await rebuilt(knowsSHA256: true)
        try await third.add(TestPhoto(2))
        try await first.add(photo, named: "old")
        for other in [first, third] { try await other.publish() }
        try await first.remove(photo)
        try await first.publish()
        #expect(try await device.removedElsewhere() == [photo.md5])
        let adder = isAddedByThird ? third : first
        try await adder.add(photo, named: "new")
        try await adder.publish()
        #expect(try await device.removedElsewhere() == [])
    }

    @Test func `nothing counts as removed while the documents of a device are gone that may name it`() async throws {
        let (first, third) = (try TestDevice("first", store), try TestDevice("third", store))
        let device = try await rebuilt(knowsSHA256: true)
        for other in [first, third] {
            try await other.add(photo)
            try await other.publish()
        }
        _ = try await device.survey()
        try await first.remove(photo)
        try await first.publish()
        let prefix = "snapshot-\(await third.id.rawValue)-"
        store.change { $0.documents = $0.documents.filter { !$0.key.hasPrefix(prefix) } }
        #expect(try await device.removedElsewhere() == [])
        try await device.dismiss(await third.id)
        #expect(try await device.removedElsewhere() == [photo.md5])
    }
}
