import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// A photo that is told by its number.
struct TestPhoto: Sendable, Hashable {
    var number: Int

    init(_ number: Int) { self.number = number }

    var bytes: Data { Data("photo \(number)".utf8) }
    var sha256: [UInt8] { SHA256.hash(bytes) }
    var md5: [UInt8] { MD5.hash(bytes) }
    var key: String { md5.hexadecimal }
    var descriptor: PhotoDescriptor {
        PhotoDescriptor(sha256: sha256, md5: md5, byteCount: Int64(bytes.count), format: "jpg")
    }
}

/// What of a store shares documents, on a catalog of its own; eviction is done here, in the order of the store's.
actor TestDevice {
    nonisolated let name: String
    nonisolated let folder: URL
    nonisolated let tier: ScriptedTier
    private let ownsFolder: Bool
    let catalog: Catalog
    let documents: DeviceDocuments

    /// - Parameter folder: with a catalog of before, another process that begins where one ended.
    init(
        _ name: String, _ store: ScriptedStore, in folder: URL? = nil, clock: TestClock? = nil,
        gate: @escaping TierGate = { _, _ in }
    ) throws {
        self.name = name
        ownsFolder = folder == nil
        let folder =
            folder
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "devices-\(UUID().uuidString)", isDirectory: true)
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let clock = clock ?? store.clock
        catalog = try Catalog(at: folder.appendingPathComponent("catalog.sqlite"), isWriter: true, on: clock.now)
        tier = ScriptedTier(store, device: name, gate: gate)
        let device = try catalog.setting(.device).flatMap { DeviceID(rawValue: $0) } ?? .random()
        try catalog.set(.device, to: device.rawValue)
        documents = DeviceDocuments(catalog: catalog, tier: tier, device: device, clock: { clock.now })
    }

    deinit { if ownsFolder { try? FileManager.default.removeItem(at: folder) } }

    var id: DeviceID { documents.device }

    func run(_ sql: String, _ values: [SQLiteValue] = []) throws {
        try catalog.perform { database throws(SQLiteError) in try database.run(sql, values) }
    }

    func integers(_ sql: String) throws -> [Int64] {
        try catalog.perform { database throws(SQLiteError) in try database.rows(sql) { row in row.integer(0) } }
    }

    func add(_ photo: TestPhoto, named name: String? = nil) throws {
        try catalog.transaction { database throws(SQLiteError) in
            let known = try database.first("SELECT 1 FROM photo WHERE sha256 = ?", [.blob(photo.sha256)]) { _ in true }
            if known == nil {
                try database.run(
                    """
                    INSERT INTO photo (sha256, md5, byte_count, format, taken_at, added_at, state)
                    VALUES (?, ?, ?, 'jpg', 1000, 2000, 0)
                    """, [.blob(photo.sha256), .blob(photo.md5), .integer(Int64(photo.bytes.count))])
            }
            try database.run(
                """
                INSERT OR IGNORE INTO photo_name (name, photo)
                VALUES (?, (SELECT id FROM photo WHERE sha256 = ?))
                """, [.text(name ?? "photo \(photo.number)"), .blob(photo.sha256)])
        }
    }

    func remove(_ photo: TestPhoto) throws {
        let date = documents.clock().milliseconds
        try catalog.transaction { database throws(SQLiteError) in
            let id = try database.first("SELECT id FROM photo WHERE sha256 = ?", [.blob(photo.sha256)]) {
                $0.integer(0)
            }
            guard let id else { return }
            try database.run("DELETE FROM photo_name WHERE photo = ?", [.integer(id)])
            try database.run("DELETE FROM photo WHERE id = ?", [.integer(id)])
            try database.run(
                """
                INSERT OR REPLACE INTO tombstone (md5, sha256, byte_count, format, tier, removed_at)
                VALUES (?, ?, ?, 'jpg', ?, ?)
                """,
                [
                    .blob(photo.md5), .blob(photo.sha256), .integer(Int64(photo.bytes.count)),
                    .text(ScriptedTier.identity().description), .integer(date),
                ])
        }
    }

    func publish() async throws { try await documents.publish() }
    func survey() async throws -> DeviceSurvey { try await documents.survey() }
    func dismiss(_ id: DeviceID) async throws { try await documents.dismiss(id) }
    func devices() async throws -> [PhotoDevice] { try await documents.devices() }
    func becomeNewDevice() async throws { try await documents.becomeNewDevice() }
    func advance(_ survey: DeviceSurvey) async throws -> Int { try await documents.advanceDeletions(survey) }
    func advance() async throws -> Int { try await documents.advanceDeletions(try await documents.survey()) }
    func rebuild() async throws -> RebuildReport { try await documents.rebuild(RebuildReport()) }

    /// The MD5s of the photos that would be forgotten if the tier did not have them.
    func removedElsewhere() async throws -> Set<[UInt8]> {
        let ids = try catalog.ids("SELECT id FROM photo")
        return try md5s(Array(try await documents.removedBeforeNamed(try catalog.photos(ids))))
    }

    func md5s(_ ids: [Int64]) throws -> Set<[UInt8]> {
        let list = ids.map(String.init).joined(separator: ",")
        return try catalog.perform { database throws(SQLiteError) in
            Set(try database.rows("SELECT md5 FROM photo WHERE id IN (\(list))") { row in row.blob(0) })
        }
    }

    func photos(in states: [PhotoState]) throws -> Set<[UInt8]> {
        let numbers = states.map { String($0.rawValue) }.joined(separator: ",")
        return try catalog.perform { database throws(SQLiteError) in
            Set(try database.rows("SELECT md5 FROM photo WHERE state IN (\(numbers))") { row in row.blob(0) })
        }
    }

    enum Order: CaseIterable { case asItIs, surveyFirst, proofFirst }

    /// Uploads photos and lets their files go.
    func evict(_ photos: [TestPhoto], _ order: Order = .asItIs) async throws {
        let hot = try self.photos(in: [.hot])
        let leaving = photos.filter { hot.contains($0.md5) }
        guard !leaving.isEmpty else { return }
        for photo in leaving {
            let file = folder.appendingPathComponent("\(photo.number)")
            try photo.bytes.write(to: file)
            try await tier.put(file, photo.descriptor, progress: nil)
        }
        var proofs: [TestPhoto: ColdProof] = [:]
        func prove() async throws {
            for photo in leaving { proofs[photo] = try await tier.verify(photo.descriptor, file: nil) }
        }
        let survey: DeviceSurvey
        switch order {
        case .asItIs:
            try await publish()
            survey = try await self.survey()
            if survey.isDismissed { return try await documents.becomeNewDevice() }
            try await prove()
        case .surveyFirst:
            survey = try await self.survey()
            try await publish()
            try await prove()
        case .proofFirst:
            try await prove()
            try await publish()
            survey = try await self.survey()
        }
        for (photo, proof) in proofs where !survey.announcedDeletions.contains(photo.md5) {
            try run(
                """
                UPDATE photo SET state = 4, tier = ?, remote_key = ?, verified_at = 1
                WHERE sha256 = ? AND segment IS NOT NULL AND state = 0
                    AND NOT EXISTS (SELECT 1 FROM sent_deletion WHERE sent_deletion.md5 = photo.md5)
                """, [.text(proof.identity.description), .text(proof.key), .blob(photo.sha256)])
        }
    }
}

extension ScriptedStore {
    /// What a device's documents name, by MD5: as another device reads them.
    func named(by device: DeviceID) throws -> Set<[UInt8]> {
        var named: [[UInt8]: [UInt8]] = [:]
        for (name, document) in account().documents.sorted(by: { $0.key < $1.key }) {
            guard case .snapshot(device, _) = DeviceDocumentName(name) else { continue }
            let snapshot = try SnapshotDocument(document.bytes, named: name)
            for photo in snapshot.removed { named[photo] = nil }
            for entry in snapshot.entries { named[entry.photo] = entry.md5 }
        }
        return Set(named.values)
    }

    func documentNames(_ prefix: String) -> [String] {
        account().documents.keys.filter { $0.hasPrefix(prefix) }.sorted()
    }

    func hasObject(_ photo: TestPhoto) -> Bool { account().objects[photo.key] != nil }
}
