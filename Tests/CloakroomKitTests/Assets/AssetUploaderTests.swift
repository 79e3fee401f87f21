import CloakroomAWS
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AssetUploaderTests {
    let time = FakeRuntime()
    let fixture: RecoveryFixture
    let bytes = UploadContent(Data("bytes".utf8), contentType: "application/octet-stream")

    init() { fixture = RecoveryFixture(time: time) }

    private var uploads: AssetUploader { AssetUploader(uploader: fixture, runtime: time.runtime) }

    @Test func `an image of a chat says when it goes`() async throws {
        let image = try await uploads.uploadChatImage(bytes)
        #expect(image.link == "https://cdn.example/new1.bin")
        #expect(image.objectKey == "new1.bin")
        #expect(image.uploadedAt == time.wallTime)
        #expect(image.expiration == time.wallTime + 30 * 86_400)
    }

    @Test(arguments: [false, true])
    func `when an image of a chat goes is the worker's time, not that of a device's clock that is wrong`(
        isURLEnded: Bool
    ) async throws {
        var options = TestServer.Options()
        options.date = Date(timeIntervalSince1970: 1_795_183_200)
        let server = TestServer(options: options)
        let client = CloakroomClient(
            endpoint: server.endpoint, tokens: server.tokens(forUser: "u_1"), transport: server.transport,
            runtime: time.runtime)
        time.setWallClock(ahead: .seconds(3 * 86_400))
        if isURLEnded { server.fail(.putObject, with: .delay(.seconds(901))) }
        let uploads = AssetUploader(uploader: client, retention: .seconds(7 * 86_400), runtime: time.runtime)
        let image = try await uploads.uploadChatImage(bytes)
        // The worker's responses have whole seconds.
        #expect(abs(image.uploadedAt.timeIntervalSince(server.date)) <= 1)
        #expect(image.expiration == image.uploadedAt + 7 * 86_400)
    }

    @Test func `an avatar and the picture of a group can be renewed`() async throws {
        let avatar = try await uploads.uploadProfileAvatar(bytes, conversationID: "c", inboxID: "i")
        let picture = try await uploads.uploadGroupImage(bytes, conversationID: "c")
        let urls = [1, 2].map { URL(string: "https://cdn.example/new\($0).bin")! }
        #expect(avatar == .profileAvatar(url: urls[0], conversationID: "c", inboxID: "i"))
        #expect(picture == .groupImage(url: urls[1], conversationID: "c"))
        #expect(await fixture.log == ["request 5", "put new1.bin", "request 5", "put new2.bin"])
    }

    @Test func `a URL that expired on the way is replaced once`() async throws {
        let ended = CloakroomError(.uploadURLExpired, "ended")
        await fixture.fail("put", ended)
        #expect(try await uploads.uploadChatImage(bytes).objectKey == "new2.bin")
        await fixture.fail("put", ended, ended)
        await #expect(throws: ended) { try await uploads.uploadChatImage(bytes) }
    }

    private func uploads(to server: TestServer, releasesChatImages: Bool = false) -> AssetUploader {
        AssetUploader(
            uploader: CloakroomClient.of(server), releasesChatImages: releasesChatImages, runtime: server.runtime)
    }

    @Test(arguments: [false, true])
    func `an image whose response was lost is stored once, although its URL ended before the next attempt`(
        isReleasable: Bool
    ) async throws {
        let server = TestServer()
        server.fail(.putObject, with: .connectionLostAfter)
        server.fail(.putObject, with: .delay(.seconds(901)))
        let image = try await uploads(to: server, releasesChatImages: isReleasable).uploadChatImage(bytes)
        #expect(server.faultsToCome == 0)
        #expect(Array(server.objects().keys) == [image.objectKey])
        // The worker does not tell of an image of a chat whether it is stored.
        #expect(server.count(.requestUpload) == (isReleasable ? 2 : 1))
        #expect(server.count(.releaseImages) == (isReleasable ? 1 : 0))
        #expect((image.release != nil) == isReleasable)
    }

    @Test(arguments: [false, true])
    func `a URL that ended before anything was stored is replaced`(isSentBefore: Bool) async throws {
        let server = TestServer()
        if isSentBefore { server.fail(.putObject, with: .connectionLostBefore) }
        server.fail(.putObject, with: .delay(.seconds(901)))
        let picture = try await uploads(to: server).uploadGroupImage(bytes, conversationID: "c")
        #expect(server.objects().keys.map { "\($0)" } == [picture.url.lastPathComponent])
        #expect(server.count(.requestUpload) == 2)
        #expect(server.count(.renewAssets) == (isSentBefore ? 1 : 0))
    }

    @Test func `whether an image was stored has to be known before it is sent anew`() async throws {
        let server = TestServer()
        server.fail(.putObject, with: .connectionLostAfter)
        server.fail(.putObject, with: .delay(.seconds(901)))
        server.fail(.renewAssets, times: .max, with: .connectionLostBefore)
        await #expect {
            try await uploads(to: server).uploadGroupImage(bytes, conversationID: "c")
        } throws: { ($0 as? CloakroomError)?.code == .unreachable }
        #expect(server.objects().count == 1 && server.count(.requestUpload) == 1)
    }

    @Test func `a file is uploaded whole`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("image-\(UUID().uuidString)")
        try Data("image".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try UploadContent(contentsOf: file, contentType: "image/jpeg").body == .file(file, 0..<5))
        let missing = file.appendingPathExtension("missing")
        let error = #expect(throws: CloakroomError.self) {
            try UploadContent(contentsOf: missing, contentType: "image/jpeg")
        }
        #expect(error?.code == .unreadableFile)
    }

    @Test func `a file behind a symbolic link is uploaded whole, and a folder not at all`() throws {
        let folder = try TemporaryFolder()
        try folder.write("photos/image", String(repeating: "image", count: 1000))
        let link = folder.url.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "photos/image")
        #expect(try UploadContent(contentsOf: link, contentType: "image/jpeg").body == .file(link, 0..<5000))
        let error = #expect(throws: CloakroomError.self) {
            try UploadContent(contentsOf: folder.url.appendingPathComponent("photos"), contentType: "image/jpeg")
        }
        #expect(error?.code == .unreadableFile)
    }
}
