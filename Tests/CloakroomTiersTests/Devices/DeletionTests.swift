import CloakroomKit
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

@Suite(.serialized) struct DeletionTests {
    private let store = ScriptedStore()
    private let photo = TestPhoto(1)

    /// Two devices that have the photo, which the first one then removes.
    private func removed(alsoOn other: Bool = false) async throws -> (TestDevice, TestDevice) {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        try await first.add(photo)
        try await first.evict([photo])
        if other {
            try await second.add(photo)
            try await second.publish()
        }
        try await first.remove(photo)
        try await first.publish()
        return (first, second)
    }

    @Test func `a removed photo is announced, and deleted two days later with all that told of it`() async throws {
        let (first, second) = try await removed()
        #expect(try await first.advance() == 0)
        #expect(store.documentNames("intent-").count == 1)
        #expect(try await second.survey().announcedDeletions == [photo.md5])
        #expect(try await first.survey().announcedDeletions == [])
        store.clock.pass(47.9 * 3600)
        #expect(try await first.advance() == 0)
        #expect(store.hasObject(photo))
        store.clock.pass(0.2 * 3600)
        store.change { [photo] in $0.thumbnails[photo.key] = Data([1]) }
        #expect(try await first.advance() == 1)
        #expect(!store.hasObject(photo))
        #expect(store.account().thumbnails.isEmpty)
        #expect(store.documentNames("intent-").count == 1)
        store.clock.pass(days: 7.9)
        _ = try await first.advance()
        #expect(store.documentNames("intent-").count == 1)
        store.clock.pass(days: 0.2)
        _ = try await first.advance()
        #expect(store.documentNames("intent-").isEmpty)
        store.resetRequests()
        #expect(
            try await first.advance(
                DeviceSurvey(
                    date: store.clock.now, isServerDate: true, announcedDeletions: [], isDismissed: false)) == 0)
        #expect(store.requestCount == 0)
    }

    @Test func `what another device names is not deleted, and the announcement is withdrawn`() async throws {
        let (first, _) = try await removed(alsoOn: true)
        _ = try await first.advance()
        store.clock.pass(days: 3)
        #expect(try await first.advance() == 0)
        #expect(store.hasObject(photo))
        #expect(store.requests(.delete) == 0)
        #expect(store.documentNames("intent-").isEmpty)
        #expect(try await first.integers("SELECT count(*) FROM tombstone") == [0])
    }

    @Test func `a photo that is here again is not deleted`() async throws {
        let (first, _) = try await removed()
        _ = try await first.advance()
        store.clock.pass(days: 3)
        try await first.add(photo)
        #expect(try await first.advance() == 0)
        #expect(store.hasObject(photo))
        #expect(store.documentNames("intent-").isEmpty)
    }

    @Test(arguments: ["{}", #"{"version":2,"entries":[]}"#, "x"])
    func `a snapshot that cannot be read stops all deletions`(text: String) async throws {
        let (first, _) = try await removed()
        _ = try await first.advance()
        store.clock.pass(days: 3)
        store.change {
            $0.documents["snapshot-zz-000000000000001.json"] = .init(bytes: Data(text.utf8), modified: .now)
        }
        await #expect(throws: CloakroomError.self) { _ = try await first.advance() }
        #expect(store.hasObject(photo))
    }

    @Test func `an intent that cannot be read lets nothing leave the device`() async throws {
        let device = try TestDevice("a", store)
        store.change { $0.documents["intent-zz-1.json"] = .init(bytes: Data("{}".utf8), modified: .now) }
        try await device.add(photo)
        await #expect(throws: CloakroomError.self) { try await device.evict([photo]) }
        #expect(try await device.photos(in: [.cold]).isEmpty)
    }

    @Test func `a deletion that fails stays announced, and is done at the next run`() async throws {
        let (first, _) = try await removed()
        _ = try await first.advance()
        store.clock.pass(days: 3)
        first.tier.script.add(.failAfter(.scriptedOutage), on: .delete)
        await #expect(throws: CloakroomError.self) { _ = try await first.advance() }
        #expect(store.documentNames("intent-").count == 1)
        #expect(try await first.advance() == 1)
        store.clock.pass(days: 8.1)
        _ = try await first.advance()
        #expect(store.documentNames("intent-").isEmpty)
    }

    @Test func `photos of another tier than now are left alone`() async throws {
        let (first, _) = try await removed()
        try await first.run("UPDATE tombstone SET tier = 'scripted:somebody else'")
        #expect(try await first.advance() == 0)
        #expect(store.documentNames("intent-").isEmpty)
        #expect(try await first.integers("SELECT count(*) FROM tombstone") == [1])
    }

    @Test func `an announcement that disappeared is made again, and its two days begin again`() async throws {
        let (first, _) = try await removed()
        _ = try await first.advance()
        store.change { $0.documents = $0.documents.filter { !$0.key.hasPrefix("intent-") } }
        store.clock.pass(days: 3)
        #expect(try await first.advance() == 0)
        #expect(store.hasObject(photo))
        #expect(store.documentNames("intent-").count == 1)
    }

    @Test func `an announcement without a tombstone is withdrawn`() async throws {
        let device = try TestDevice("a", store)
        let name = DeviceDocumentName.intent(await device.id, "ff").text
        let bytes = try IntentDocument(photos: [photo.md5]).encoded()
        store.change { $0.documents[name] = .init(bytes: bytes, modified: .now) }
        _ = try await device.advance()
        #expect(store.documentNames("intent-").isEmpty)
    }

    @Test func `intents of other devices are fetched once`() async throws {
        let (first, second) = try await removed()
        _ = try await first.advance()
        store.resetRequests()
        for _ in 0..<3 { #expect(try await second.survey().announcedDeletions == [photo.md5]) }
        #expect(store.requests == [.documents: 3, .document: 1])
    }

    @Test func `what only a device names that was given up is deleted`() async throws {
        let (first, second) = try await removed(alsoOn: true)
        _ = try await first.advance()
        try await first.dismiss(await second.id)
        #expect(try await first.devices().map(\.isThisOne) == [true])
        store.clock.pass(days: 3)
        #expect(try await first.advance() == 1)
        #expect(!store.hasObject(photo))
    }

    @Test func `a dismissal that cannot be read gives nobody up`() async throws {
        let (first, second) = try await removed(alsoOn: true)
        _ = try await first.advance()
        let name = DeviceDocumentName.dismissed(await second.id).text
        store.change { $0.documents[name] = .init(bytes: Data("{}".utf8), modified: .now) }
        store.clock.pass(days: 3)
        await #expect(throws: CloakroomError.self) { _ = try await first.advance() }
        #expect(store.hasObject(photo))
    }

    @Test func `a device that was given up and comes back begins as another one`() async throws {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        for device in [first, second] {
            try await device.add(photo)
            try await device.publish()
        }
        let old = await second.id
        try await first.dismiss(old)
        #expect(try await second.survey().isDismissed)
        try await second.becomeNewDevice()
        let new = await second.id
        #expect(new != old)
        #expect(try store.named(by: new) == [photo.md5])
        #expect(store.documentNames("snapshot-\(old.rawValue)").isEmpty)
        #expect(try await second.survey().isDismissed == false)
        #expect(try await first.devices().count == 2)
    }

    @Test func `a device cannot be given up by itself, nor one that there is not`() async throws {
        let device = try TestDevice("a", store)
        try await device.add(photo)
        try await device.publish()
        let id = await device.id
        await #expect(throws: CloakroomError.self) { try await device.dismiss(id) }
        await #expect(throws: CloakroomError.self) { try await device.dismiss(.random()) }
    }

    @Test func `what a device announced that was given up counts for a year: it may be on its way`() async throws {
        let (first, second) = try await removed()
        _ = try await first.advance()
        try await second.dismiss(await first.id)
        store.clock.pass(days: 365.9)
        #expect(try await second.survey().announcedDeletions == [photo.md5])
        store.clock.pass(days: 0.2)
        #expect(try await second.survey().announcedDeletions == [])
    }

    @Test func `an intent may be as large as documents may be, and no larger`() async throws {
        let device = try TestDevice("a", store)
        func survey(byteCount: Int) async throws -> Set<[UInt8]> {
            let name = "intent-zz-\(byteCount).json"
            let content = try SealedDocument.content(of: IntentDocument(photos: [photo.md5]).encoded(), named: name)
            let padding = Data(repeating: 0x20, count: byteCount - SealedDocument.bytes(of: content).count)
            let bytes = SealedDocument.bytes(of: content + padding)
            store.change { $0.documents = [name: .init(bytes: bytes, modified: .now)] }
            return try await device.survey().announcedDeletions
        }
        #expect(try await survey(byteCount: SharedDocumentRules.maximumBytes) == [photo.md5])
        await #expect(throws: CloakroomError.self) { try await survey(byteCount: SharedDocumentRules.maximumBytes + 1) }
    }

    /// Five photos that are to be deleted now.
    private func due() async throws -> TestDevice {
        let device = try TestDevice("a", store)
        let photos = (0..<5).map { TestPhoto($0) }
        for photo in photos { try await device.add(photo) }
        try await device.evict(photos)
        for photo in photos { try await device.remove(photo) }
        try await device.publish()
        _ = try await device.advance()
        store.clock.pass(days: 3)
        store.resetRequests()
        return device
    }

    @Test func `deletions end with the third that fails`() async throws {
        let device = try await due()
        device.tier.script.add(.failAfter(.scriptedOutage), on: .delete, times: 5)
        await #expect(throws: CloakroomError.self) { _ = try await device.advance() }
        #expect(store.requests(.delete) == 3)
    }
}
