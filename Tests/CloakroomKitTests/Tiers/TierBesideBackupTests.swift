import CloakroomCrypto
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

/// A cold tier, and backups of the same user's photos.
struct TierBesideBackupTests {
    private let folder: TemporaryFolder
    private let server = TestServer()
    private let cloakroom: Cloakroom
    private let bytes = Data("a photo".utf8)
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        cloakroom = try Cloakroom(
            configuration: server.configuration(folder: folder.url.appendingPathComponent("state")), user: "u_1",
            tokens: server.tokens(forUser: "u_1"))
        file = try folder.write("pictures/a.jpg", bytes)
    }

    private var md5: String { MD5.hash(bytes).hexadecimal }

    private func tieredStore(reader: S3BackupClient? = nil) throws -> TieredPhotoStore {
        let server = server
        return try TieredPhotoStore(
            folder: folder.url.appendingPathComponent("store"),
            tier: S3ColdTier(client: cloakroom.objects, layout: cloakroom.layout, reader: reader),
            thumbnailer: SmallPicture(), policy: RetentionPolicy(), conditions: UnrestrictedConditions(),
            clock: { server.date })
    }

    /// As an app without a ``Cloakroom`` makes it.
    private var scopedReader: S3BackupClient {
        let client = CloakroomClient.of(server)
        let credentials = CredentialProvider(
            vendor: ScopedVendor(client, scope: "read"), serverClock: client.serverClock, runtime: server.runtime)
        return S3BackupClient(
            credentials: credentials, transport: server.transport, endpoint: server.s3Endpoint,
            journal: InMemoryMultipartJournal(), runtime: server.runtime)
    }

    /// Has a store delete its photo in the tier, as its user has removed it.
    private func remove(_ name: String, from store: TieredPhotoStore) async throws {
        try await store.remove(name: name)
        #expect(await store.run().deleted == 0)
        server.advance(by: .seconds(49 * 3_600))
        #expect(await store.run().deleted == 1)
    }

    enum Backup: CaseIterable { case source, files, outbox }

    private func backUp(by backup: Backup) async throws {
        switch backup {
        case .source:
            let source = FolderPhotoSource(folder.url.appendingPathComponent("pictures"))
            #expect(try await cloakroom.backup(of: source).run().isComplete)
        case .files: #expect(await cloakroom.backup.backUp([file]).isComplete)
        case .outbox:
            let outbox = try cloakroom.outbox()
            try await outbox.add(photo: file)
            #expect(await outbox.run().isComplete)
        }
    }

    @Test(arguments: Backup.allCases, [false, true])
    func `a photo that is removed from the tier stays in the backup`(
        backup: Backup, isBackedUpFirst: Bool
    ) async throws {
        let store = try tieredStore()
        if isBackedUpFirst { try await backUp(by: backup) }
        try await store.add(file, name: "a", takenAt: server.date)
        #expect(await store.run().uploaded == 1)
        if !isBackedUpFirst { try await backUp(by: backup) }
        try await remove("a", from: store)
        #expect(Array(server.objects(withPrefix: "photos/").keys) == ["photos/u_1/\(md5).dat"])
        let restored = folder.url.appendingPathComponent("restored")
        #expect(await cloakroom.restore.restore(to: restored).restored == 1)
        #expect(try Data(contentsOf: restored.appendingPathComponent("\(md5).jpg")) == bytes)
    }

    @Test func `a thumbnail of the backup is neither replaced nor deleted by the tier`() async throws {
        let backup = PhotoBackup(client: cloakroom.objects, layout: cloakroom.layout, sidecars: LargePicture())
        #expect(await backup.backUp([file]).isComplete)
        let store = try tieredStore()
        try await store.add(file, name: "a", takenAt: server.date)
        #expect(await store.run().uploaded == 1)
        try await remove("a", from: store)
        let left = server.objects(withPrefix: "thumbnails/").mapValues(\.bytes)
        #expect(left == ["thumbnails/u_1/\(md5).jpg": LargePicture.bytes])
    }

    @Test(arguments: [false, true])
    func `a photo that has left the device opens while the user's storage is used up, where the tier has a reader`(
        isFacade: Bool
    ) async throws {
        let store = try tieredStore(reader: isFacade ? cloakroom.reader : scopedReader)
        let old = server.date - 31 * 86_400
        let id = try await store.add(file, name: "a", takenAt: old, addedAt: old)
        #expect(await store.run().evicted == 1)
        server.setStorageIsFull(true, forUser: "u_1")
        server.advance(by: .seconds(7200))
        let photo = try await store.open(id)
        #expect(try Data(contentsOf: photo.url) == bytes)
    }

    @Test func `a restore of the backup is without the tier's photos`() async throws {
        let store = try tieredStore()
        try await store.add(file, name: "a", takenAt: server.date)
        #expect(await store.run().uploaded == 1)
        let report = await cloakroom.restore.restore(to: folder.url.appendingPathComponent("restored"))
        #expect(report.restored == 0 && report.failures == [] && report.stoppedBy == nil)
    }
}

private struct SmallPicture: Thumbnailer {
    func thumbnail(of file: URL, maximumPixelSize: Int) -> Thumbnail {
        Thumbnail(bytes: Data([0xFF, 0xD8, 0xFF, 0xD9]), width: 1, height: 1)
    }
}

private struct LargePicture: PhotoSidecarProvider {
    static let bytes = Data("a large picture".utf8)

    func thumbnail(of photo: URL) -> Data? { Self.bytes }
}
