import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// What an app wants to know of users whose storage is used up.
@Suite struct StorageFullTests {
    private let app: TestApp
    private let cloakroom: Cloakroom

    /// Five photos are stored, the user's storage is used up, and the credentials of the backup have ended.
    init() async throws {
        app = try TestApp()
        cloakroom = try app.cloakroom()
        #expect(await cloakroom.backup.backUp(try app.photos(5)).failures == [])
        app.server.setStorageIsFull(true, forUser: "u_1")
        app.server.advance(by: .seconds(7200))
        app.server.forgetRequests()
    }

    private func show(_ parts: Cloakroom) async throws {
        let images = try parts.images()
        for (key, object) in app.server.objects() {
            let md5 = try #require(parts.layout.md5(ofPhoto: key))
            #expect(try await images.data(for: .photo(md5: md5)) == object.bytes)
        }
    }

    @Test func `photos are shown and restored, and none is backed up`() async throws {
        try await show(cloakroom)
        let restored = app.folder.appendingPathComponent("restored")
        try FileManager.default.createDirectory(at: restored, withIntermediateDirectories: false)
        #expect(await cloakroom.restore.restore(to: restored).failures == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: restored.path).count == 5)
        // One that was refused, and one of the scope that reads: whatever else is read within a minute.
        #expect(app.server.count(.vendCredentials) == 2)

        let another = app.folder.appendingPathComponent("another.jpg")
        try Data("another".utf8).write(to: another)
        #expect(await cloakroom.backup.backUp([another]).stoppedBy?.code == .storageQuotaExceeded)
        #expect(await code { _ = try await cloakroom.objects.head("photos/u_1/a") } == .storageQuotaExceeded)
    }

    @Test func `with room again, the usual credentials are back`() async throws {
        try await show(cloakroom)
        app.server.setStorageIsFull(false, forUser: "u_1")
        app.server.advance(by: .seconds(61))
        _ = try await cloakroom.reader.exists("photos/u_1/a")
        #expect(app.server.requests(.vendCredentials).map(\.status) == [403, 200, 200])
        _ = try await cloakroom.objects.exists("photos/u_1/a")
        #expect(app.server.count(.vendCredentials) == 3)
    }

    @Test func `a new device shows the photos, too`() async throws {
        var configuration = app.server.configuration(folder: app.folder.appendingPathComponent("another device"))
        let tokens = app.server.tokens(forUser: "u_1")
        try await show(try await .connected(configuration: configuration, user: "u_1", tokens: tokens))

        configuration.folder = app.folder.appendingPathComponent("a third")
        for scope in [nil, "unknown"] {
            configuration.readScope = scope
            let error = await code {
                _ = try await Cloakroom.connected(configuration: configuration, user: "u_1", tokens: tokens)
            }
            #expect(error == .storageQuotaExceeded, "not that a scope is missing, which no user can do anything about")
        }
    }

    @Test func `images that others see are refused, and renewed`() async throws {
        app.server.setStorageIsFull(false, forUser: "u_1")
        let image = try await cloakroom.uploads.uploadGroupImage(
            UploadContent(Data("an image".utf8), contentType: "image/jpeg"), conversationID: "g_1")
        app.server.setStorageIsFull(true, forUser: "u_1")
        let error = await code {
            _ = try await cloakroom.uploads.uploadGroupImage(
                UploadContent(Data("another".utf8), contentType: "image/jpeg"), conversationID: "g_1")
        }
        #expect(error == .storageQuotaExceeded)
        let results = try await cloakroom.client.renewAssets(keys: [image.url.lastPathComponent])
        guard case .renewed? = results.first?.outcome else { Issue.record("\(results)"); return }
    }
}
