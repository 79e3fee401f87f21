import CloakroomKit
import CloakroomSQLite
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Devices that have no photos, or no documents, and what the others make of that.
@Suite(.serialized) struct AbsentDeviceTests {
    private let store = ScriptedStore()

    private func forgetSnapshots(of device: DeviceID) {
        let prefix = "snapshot-\(device.rawValue)-"
        store.change { $0.documents = $0.documents.filter { !$0.key.hasPrefix(prefix) } }
    }

    @Test func `a device that has removed all its photos has a document at each moment, and the others delete`()
        async throws
    {
        let store = store
        let interruption = Interruption()
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store, gate: interruption.gate))
        let id = await second.id
        try await first.add(TestPhoto(100))
        try await first.evict([TestPhoto(100)])
        interruption.end(afterSteps: .max) {
            #expect(!store.documentNames("snapshot-\(id.rawValue)-").isEmpty)
        }
        for number in 0..<20 {
            try await second.add(TestPhoto(number))
            try await second.publish()
            try await second.remove(TestPhoto(number))
            try await second.publish()
            store.resetRequests()
            try await second.publish()
            #expect(store.requests(.putDocument) == 0 && store.requests(.deleteDocument) == 0)
            _ = try await first.survey()
        }
        #expect(try store.named(by: id) == [])
        #expect(store.documentNames("snapshot-\(id.rawValue)-").count < 9)
        let settings = try await second.integers(
            "SELECT value FROM setting WHERE name IN ('snapshot_changed_bytes', 'snapshot_written_bytes') ORDER BY name"
        )
        #expect(settings[1] <= 2 * settings[0])
        try await first.remove(TestPhoto(100))
        try await first.publish()
        _ = try await first.advance()
        store.clock.pass(days: 3)
        #expect(try await first.advance() == 1)
    }

    @Test func `a device whose documents are gone is listed, and once it is dismissed the others delete again`()
        async throws
    {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        for (number, device) in [first, second].enumerated() {
            try await device.add(TestPhoto(number))
            try await device.evict([TestPhoto(number)])
        }
        let id = await second.id
        let seen = store.clock.now
        _ = try await first.survey()
        store.clock.pass(days: 1)
        forgetSnapshots(of: id)
        try await first.remove(TestPhoto(0))
        try await first.publish()
        _ = try await first.advance()
        store.clock.pass(days: 3)
        await #expect(throws: CloakroomError.self) { _ = try await first.advance() }
        let listed = try await first.devices()
        #expect(listed.map(\.id) == [await first.id, id])
        #expect(listed.last?.lastPublished == seen)
        #expect(listed.last?.snapshotBytes == 0)
        try await first.dismiss(id)
        #expect(try await first.devices().map(\.isThisOne) == [true])
        #expect(try await first.advance() == 1)
    }

    @Test func `devices that an earlier version has seen are known, with a date as soon as there is one`()
        async throws
    {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        for (number, device) in [first, second].enumerated() {
            try await device.add(TestPhoto(number))
            try await device.publish()
        }
        let (id, now) = (await second.id, store.clock.now)
        try await first.run("INSERT INTO setting VALUES ('known_devices', 'gone \(id.rawValue)')")
        _ = try await first.survey()
        forgetSnapshots(of: id)
        let dates = Dictionary(
            uniqueKeysWithValues: try await first.devices().filter { !$0.isThisOne }.map { ($0.id, $0.lastPublished) })
        #expect(dates == [id: now, try #require(DeviceID(rawValue: "gone")): Date(timeIntervalSince1970: 0)])
    }

    @Test func `devices of a former account are not missed in the present one`() async throws {
        let (first, second) = (try TestDevice("a", store), try TestDevice("b", store))
        for device in [first, second] {
            try await device.add(TestPhoto(1))
            try await device.publish()
        }
        _ = try await first.survey()
        first.tier.signIn("another")
        try await first.publish()
        _ = try await first.survey()
        #expect(try await first.devices().map(\.isThisOne) == [true])
        first.tier.signIn("user")
        let id = await second.id
        forgetSnapshots(of: id)
        try await first.publish()
        _ = try await first.survey()
        #expect(try await first.devices().contains { $0.id == id })
    }

    @Test func `a device that announces deletions and publishes nothing else can be given up`() async throws {
        let device = try TestDevice("a", store)
        let other = try #require(DeviceID(rawValue: "b"))
        let bytes = try IntentDocument(photos: [TestPhoto(1).md5]).encoded()
        let date = store.clock.now
        store.change { $0.documents["intent-b-ff.json"] = .init(bytes: bytes, modified: date) }
        #expect(
            try await device.devices()
                == [PhotoDevice(id: other, isThisOne: false, lastPublished: date, snapshotBytes: 0)])
        try await device.dismiss(other)
        #expect(try await device.devices() == [])
    }

    @Test func `a device that lost its last document publishes an empty one at its next run, and then is idle`()
        async throws
    {
        let device = try StoreFixture(remote: store)
        try await device.add("a")
        _ = await device.store.run()
        try await device.store.remove(name: "a")
        await device.runDaily(4)
        #expect(store.account().objects.isEmpty)
        try await device.store.releaseLock()
        let catalog = try Catalog(
            at: device.folder.appendingPathComponent("catalog.sqlite"), isWriter: false, on: device.clock.now)
        // As earlier versions left it.
        try catalog.perform { database throws(SQLiteError) in
            try database.run("DELETE FROM segment")
            try database.run("DELETE FROM removal")
        }
        store.change { $0.documents = [:] }
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.store.devices().map(\.isThisOne) == [true])
        store.resetRequests()
        await device.runDaily(3)
        #expect(store.requests == [:])
    }
}
