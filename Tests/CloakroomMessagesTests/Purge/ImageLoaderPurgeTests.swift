import CloakroomKit
import CloakroomMessages
import Foundation
import Testing

/// The kit's loader of images as the cache of a purge.
@Suite struct ImageLoaderPurgeTests {
    private struct Images: HTTPTransport {
        func send(
            _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
        ) async throws(HTTPTransportError) -> HTTPResponse { HTTPResponse(status: 200, body: Data("image".utf8)) }
    }

    @Test func `a purge removes an image, which is not shown while no message has it`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("images-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let base = try #require(URL(string: "https://cdn.example.com"))
        let device = try await RetentionFixture()
        let retention = device.retention
        let images = try ImageLoader(
            folder: folder, owner: StoreOwner(user: "u_1", endpoint: base), transport: Images(),
            baseURLs: try AssetBaseURLs([base])
        ) { try await retention.hasEnded(assetKey: $0) }
        let source = ImageSource.chatImage(link: "https://cdn.example.com/chat/1", expiration: .distantFuture)
        try await device.admit("m1", attachments: [.init(assetKey: "chat/1")])
        #expect(try await images.data(for: source) == Data("image".utf8))
        #expect(await images.cachedBytes == 5)
        try await retention.close(RetentionFixture.conversation)
        let cache: any PurgeableAssetCache = images
        try await cache.removeCachedContent(forKey: "chat/1")
        #expect(await images.cachedBytes == 0)
        let error = await #expect(throws: CloakroomError.self) { try await images.data(for: source) }
        #expect(error?.code == .noSuchObject)
    }
}
