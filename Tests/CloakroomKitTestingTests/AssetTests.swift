import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// Images that others see.
@Suite struct AssetTests {
    private static let day = Duration.seconds(86_400)

    private func picture(_ cloakroom: Cloakroom, _ name: String) async throws -> RenewableAsset {
        try await cloakroom.uploads.uploadGroupImage(
            UploadContent(Data(name.utf8), contentType: "image/jpeg"), conversationID: name)
    }

    @Test func `assets expire unless they are renewed`() async throws {
        let app = try TestApp()
        let cloakroom = try app.cloakroom()
        let kept = try await picture(cloakroom, "kept")
        let other = try await picture(cloakroom, "other")
        let renewals = try cloakroom.renewals(of: AssetCollection([kept]))
        for _ in 0..<5 {
            app.server.advance(by: Self.day * 10)
            #expect(await renewals.renewIfNeeded().notFound == [])
        }
        let keys = Array(app.server.objects().keys)
        #expect(keys == [kept.url.lastPathComponent])
        let both = try cloakroom.renewals(of: AssetCollection([kept, other]))
        app.server.advance(by: Self.day * 10)
        #expect(await both.renewIfNeeded().notFound == [other.url.lastPathComponent])
    }

    @Test func `an upload whose response is lost is stored once`() async throws {
        let app = try TestApp()
        app.server.fail(.putObject, with: .connectionLostAfter)
        _ = try await picture(try app.cloakroom(), "a")
        #expect(app.server.objects().count == 1)
        #expect(app.server.requests(.putObject).map(\.status) == [nil, 412])
    }

    @Test func `an upload URL that ended is replaced by another`() async throws {
        let app = try TestApp()
        app.server.fail(.requestUpload, with: .delay(.seconds(5)))
        let client = try app.cloakroom().client
        let target = try await client.requestUpload(contentType: "image/jpeg", byteCount: 1)
        app.server.advance(by: .seconds(901))
        #expect(await code { try await client.upload(.bytes(Data([1])), to: target) } == .uploadURLExpired)
        #expect(await code { try await client.upload(.bytes(Data([1, 2])), to: target) } != nil)
        #expect(app.server.objects().isEmpty)
    }

    @Test func `bytes that are not those announced are refused`() async throws {
        let app = try TestApp()
        let client = try app.cloakroom().client
        let target = try await client.requestUpload(
            contentType: "image/jpeg", byteCount: nil, filename: nil, sha256: Data(repeating: 1, count: 32))
        #expect(await code { try await client.upload(.bytes(Data([1])), to: target) } == .checksumMismatch)
    }

    @Test func `a large asset goes up in parts`() async throws {
        let app = try TestApp()
        let client = try app.cloakroom().client
        let bytes = Data(repeating: 7, count: (5 << 20) + 3)
        let upload = try await client.beginMultipartUpload(contentType: "video/mp4", byteCount: Int64(bytes.count))
        #expect(upload.partCount == 2)
        #expect(await code { _ = try await client.completeMultipartUpload(id: upload.id) } == .uploadIncomplete)
        for part in try await client.multipartUploadParts(of: upload.id, numbers: 1...2) {
            let start = Int64(part.number - 1) * upload.partByteCount
            let piece = bytes.subdata(in: Int(start)..<Int(start + part.byteCount))
            let response = try await app.server.transport.send(
                HTTPRequest(method: "PUT", url: part.uploadURL, body: .bytes(piece)))
            #expect(response.status == 200)
        }
        let asset = try await client.completeMultipartUpload(id: upload.id)
        #expect(try await client.completeMultipartUpload(id: upload.id) == asset)
        #expect(app.server.objects()[asset.objectKey]?.bytes == bytes)
        let read = try await app.server.transport.send(
            HTTPRequest(
                method: "GET", url: asset.assetURL,
                destination: .memory(maximumBytes: 8 << 20)))
        #expect(read.body == bytes)
    }

    @Test func `an image of a chat is released by who uploaded it`() async throws {
        let app = try TestApp()
        let client = try app.cloakroom().client
        let target = try await client.requestChatUpload(contentType: "image/jpeg", byteCount: 1)
        try await client.upload(.bytes(Data([1])), to: target)
        let renewal = try await client.renewAssets(keys: [target.objectKey])
        #expect(renewal.map(\.outcome) == [.refused(reason: "forbidden")])
        let release = ImageRelease(objectKey: target.objectKey, releaseToken: target.releaseToken ?? "")
        let other = try await app.cloakroom(of: "u_2").client.release([release])
        #expect(other.map(\.outcome) == [.refused(reason: "forbidden")])
        #expect(try await client.release([release]).map(\.outcome) == [.released(bytesGoneBy: nil)])
        #expect(app.server.objects().isEmpty)
    }
}
