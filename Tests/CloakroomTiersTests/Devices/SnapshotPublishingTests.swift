import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

@Suite(.serialized) struct SnapshotPublishingTests {
    private let store = ScriptedStore()

    @Test func `publishes what changed once, and then sends no request`() async throws {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        try await device.publish()
        #expect(store.requests(.putDocument) == 1)
        #expect(try store.named(by: await device.id) == [TestPhoto(1).md5])
        #expect(try await device.integers("SELECT count(*) FROM photo WHERE segment IS NULL") == [0])
        store.resetRequests()
        try await device.run("UPDATE photo SET state = 2, viewed_at = 5, tier = 'scripted:user', remote_key = 'k'")
        try await device.publish()
        #expect(store.requestCount == 0)
    }

    @Test(arguments: [
        "UPDATE photo SET pinned = 1", "UPDATE photo SET taken_at = 7", "DELETE FROM photo_name",
        "INSERT INTO photo_name SELECT 'other', id FROM photo", "UPDATE photo_name SET name = 'other'",
    ])
    func `publishes a photo again after a change that its entry shows`(change: String) async throws {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        try await device.publish()
        store.resetRequests()
        try await device.run(change)
        try await device.publish()
        #expect(store.requests(.putDocument) == 1)
    }

    @Test func `a row that changes during its upload is published as it is then`() async throws {
        let interruption = Interruption()
        let device = try TestDevice("a", store, gate: interruption.gate)
        try await device.add(TestPhoto(1))
        interruption.set(on: .putDocument) { [weak device] in try await device?.run("UPDATE photo SET pinned = 1") }
        try await device.publish()
        try await device.publish()
        let last = try #require(store.account().documents.max { $0.key < $1.key })
        #expect(try SnapshotDocument(last.value.bytes, named: last.key).entries.map(\.isPinned) == [true])
        #expect(try store.named(by: await device.id) == [TestPhoto(1).md5])
    }

    @Test func `a photo that is removed and added again is named, one that is removed is not`() async throws {
        let device = try TestDevice("a", store)
        for number in 1...2 { try await device.add(TestPhoto(number)) }
        try await device.publish()
        for number in 1...2 { try await device.remove(TestPhoto(number)) }
        try await device.publish()
        #expect(try store.named(by: await device.id) == [])
        try await device.add(TestPhoto(1))
        try await device.publish()
        #expect(try store.named(by: await device.id) == [TestPhoto(1).md5])
    }

    @Test func `documents have at most two thousand entries, and little where names are long`() async throws {
        let device = try TestDevice("a", store)
        try await device.run(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500)
            INSERT INTO photo (sha256, md5, byte_count, format, taken_at, added_at, state)
            SELECT randomblob(32), randomblob(16), 1, 'jpg', 0, 0, 0 FROM n
            """)
        try await device.publish()
        let id = await device.id
        let counts = try store.documentNames("snapshot-\(id.rawValue)").map { name in
            try SnapshotDocument(store.account().documents[name]?.bytes ?? Data(), named: name).entries.count
        }
        #expect(counts == [2000, 2000, 500])
        try await device.run(
            "INSERT INTO photo_name SELECT id || replace(hex(zeroblob(100000)), '0', char(1)), id FROM photo LIMIT 12")
        try await device.publish()
        for document in store.account().documents.values {
            #expect(document.bytes.count <= SharedDocumentRules.maximumBytes)
        }
        #expect(try store.named(by: id).count == 4500)
    }

    /// One photo a day, names that change, removals: the bytes written stay below twice those of the changes, and the
    /// documents few.
    @Test func `writes at most twice what changed, over the whole life`() async throws {
        let device = try TestDevice("a", store)
        var generator = SeededGenerator(seed: 7)
        for day in 0..<400 {
            for number in 0..<3 { try await device.add(TestPhoto(day * 3 + number)) }
            if day % 3 == 0 {
                try await device.add(TestPhoto(Int.random(in: 0...day, using: &generator)), named: "n\(day)")
            }
            if day % 10 == 0 { try await device.remove(TestPhoto(Int.random(in: 0...day, using: &generator))) }
            try await device.publish()
            store.clock.pass(days: 1)
        }
        let settings = try await device.integers(
            "SELECT value FROM setting WHERE name IN ('snapshot_changed_bytes', 'snapshot_written_bytes') ORDER BY name"
        )
        #expect(settings[1] > settings[0])
        #expect(settings[1] <= 2 * settings[0])
        let id = await device.id
        #expect(store.documentNames("snapshot-").count < 150)
        #expect(try store.named(by: id) == (try await device.photos(in: [.hot])))
    }

    @Test func `garbage is written anew when less than half is of use`() async throws {
        let device = try TestDevice("a", store)
        for number in 0..<20 { try await device.add(TestPhoto(number)) }
        for round in 0..<40 {
            try await device.run("UPDATE photo SET taken_at = ?", [.integer(Int64(round))])
            try await device.publish()
        }
        #expect(store.documentNames("snapshot-").count <= 2)
        #expect(try store.named(by: await device.id).count == 20)
    }

    /// Eight documents of a hundred bytes and ten entries each, of which one is of use.
    @Test(arguments: [(Int64(120), true), (121, false)])
    func `documents are written anew only within twice what changed`(written: Int64, isPlanned: Bool) async throws {
        let device = try TestDevice("a", store)
        for number in 1...8 {
            let photo = TestPhoto(number)
            try await device.add(photo)
            try await device.run(
                "INSERT INTO segment (sequence, byte_count, entry_count, is_confirmed) VALUES (?, 100, 10, 1)",
                [.integer(Int64(number))])
            try await device.run(
                "UPDATE photo SET segment = ? WHERE sha256 = ?", [.integer(Int64(number)), .blob(photo.sha256)])
        }
        try await device.run(
            """
            INSERT OR REPLACE INTO setting (name, value)
            VALUES ('snapshot_changed_bytes', 100), ('snapshot_written_bytes', ?)
            """, [.integer(written)])
        #expect(try await device.planRewriting() == isPlanned)
    }

    /// Whatever a device has let go is named at each moment, also when the process ends before or after any request.
    @Test(arguments: 0..<3)
    func `a kill between any two steps loses no name`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kill-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let interruption = Interruption()
        var device = try TestDevice("a", store, in: folder, gate: interruption.gate)
        let id = await device.id
        let store = store
        for round in 0..<110 {
            for _ in 0..<3 {
                let photo = TestPhoto(Int.random(in: 0..<40, using: &generator))
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: try await device.remove(photo)
                default: try await device.add(photo, named: "\(photo.number) in \(round)")
                }
            }
            let cold = try await device.integers("SELECT id FROM photo WHERE segment IS NOT NULL")
            let named = try await device.md5s(cold)
            let steps = Int.random(in: 1..<14, using: &generator)
            interruption.end(afterSteps: steps) { () throws -> Void in
                #expect(try store.named(by: id).isSuperset(of: named), "seed \(seed), round \(round)")
            }
            try? await device.publish()
            interruption.end(afterSteps: .max) {}
            if round % 5 == 0 { device = try TestDevice("a", store, in: folder, gate: interruption.gate) }
        }
        try await device.publish()
        #expect(try store.named(by: id) == (try await device.photos(in: [.hot])))
    }

    @Test func `a snapshot document that the store lost is published again`() async throws {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        try await device.publish()
        store.change { $0.documents = [:] }
        store.clock.pass(days: 1)
        _ = try await device.survey()
        #expect(try await device.integers("SELECT count(*) FROM photo WHERE segment IS NULL") == [1])
        try await device.publish()
        #expect(try store.named(by: await device.id) == [TestPhoto(1).md5])
    }

    @Test func `a listing may lag behind for an hour, and lacks nothing before that is over`() async throws {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        try await device.publish()
        store.change { $0.documents = [:] }
        for (seconds, expected) in [(3600.0, Int64(0)), (1, 1)] {
            store.clock.pass(seconds)
            _ = try await device.survey()
            #expect(try await device.integers("SELECT count(*) FROM photo WHERE segment IS NULL") == [expected])
        }
    }

    @Test(arguments: [(nil, nil, 0), (nil, -100, 0), (nil, 100, 100), (50, 100, 50)] as [(Double?, Double?, Double)])
    func `it is as late as the store says, else as the device does, but no earlier than the last document`(
        listed: Double?, written: Double?, expected: Double
    ) async throws {
        let device = try TestDevice("a", store)
        let now = store.clock.now
        let documents = written.map { DocumentListing.Document(name: "x", byteCount: 1, modified: now + $0) }
        let listing = try DeviceListing(
            DocumentListing(documents: documents.map { [$0] } ?? [], date: listed.map { now + $0 }))
        #expect(await device.date(of: listing) == now + expected)
    }

    @Test func `a document that was published while the clock was ahead is published again when the store lost it`()
        async throws
    {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        store.clock.pass(days: 365)
        try await device.publish()
        store.clock.pass(days: -365)
        store.change { $0.documents = [:] }
        _ = try await device.survey()
        #expect(try await device.integers("SELECT count(*) FROM photo WHERE segment IS NULL") == [1])
    }

    @Test func `a copy of the catalog on another device gets a name of its own, and both keep what they name`()
        async throws
    {
        let first = try TestDevice("a", store)
        try await first.add(TestPhoto(1))
        try await first.publish()
        let copy = first.folder.appendingPathComponent("copy", isDirectory: true)
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                at: first.folder.appendingPathComponent("catalog.sqlite\(suffix)"),
                to: copy.appendingPathComponent("catalog.sqlite\(suffix)"))
        }
        let second = try TestDevice("b", store, in: copy)
        let id = await first.id
        #expect(await second.id == id)
        try await first.add(TestPhoto(2))
        try await first.publish()
        try await second.add(TestPhoto(3))
        try await second.publish()
        _ = try await second.survey()
        let other = await second.id
        #expect(other != id)
        try await second.publish()
        #expect(try store.named(by: other) == [TestPhoto(1).md5, TestPhoto(3).md5])
        #expect(try store.named(by: id).isSuperset(of: [TestPhoto(1).md5, TestPhoto(2).md5]))
    }

    @Test func `another account gets nothing of the photos that only the first one has`() async throws {
        let device = try TestDevice("a", store)
        try await device.add(TestPhoto(1))
        try await device.evict([TestPhoto(1)])
        try await device.add(TestPhoto(2))
        try await device.publish()
        device.tier.signIn("other")
        try await device.publish()
        let documents = store.account("other").documents
        let entries = try documents.flatMap { try SnapshotDocument($1.bytes, named: $0).entries.map(\.md5) }
        #expect(entries == [TestPhoto(2).md5])
        #expect(store.account().documents.count >= 1)
    }
}

extension TestDevice {
    fileprivate func date(of listing: DeviceListing) -> Date { documents.date(of: listing) }
    fileprivate func planRewriting() throws -> Bool { try documents.planRewriting() }
}
