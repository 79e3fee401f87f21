import CloakroomKit
import CloakroomMessages
import Foundation
import Testing

/// Renewal and recovery know which images have ended.
@Suite struct RetainedAssetsTests {
    private struct Cache: AssetCache {
        func cachedContent(for asset: RenewableAsset) async throws -> UploadContent? {
            UploadContent(Data([1]), contentType: "image/jpeg")
        }
    }

    @Test func `an image is renewed and recovered as long as a message has it`() async throws {
        let base = try #require(URL(string: "https://cdn.example.com"))
        let bases = try AssetBaseURLs([base])
        func asset(_ key: String) -> RenewableAsset {
            .groupImage(url: base.appendingPathComponent(key), conversationID: "c1")
        }
        let all = ["chat/1", "chat/2", "avatar"].map(asset)
        let device = try await RetentionFixture()
        let assets = RetainedAssets(AssetCollection(all), retention: device.retention, baseURLs: bases)
        let cache = RetainedAssetCache(Cache(), retention: device.retention, baseURLs: bases)
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, attachments: ["chat/1", "chat/2"].map { .init(assetKey: $0) })
        try await device.admit("m2", .oneDay, attachments: [.init(assetKey: "chat/2")])
        #expect(try await assets.renewableAssets() == all)
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        #expect(try await assets.renewableAssets() == [asset("chat/2"), asset("avatar")])
        #expect(try await cache.cachedContent(for: asset("chat/1")) == nil)
        #expect(try await cache.cachedContent(for: asset("chat/2")) != nil)
        #expect(try await cache.cachedContent(for: asset("avatar")) != nil)
        // Sent again, it is live again.
        try await device.admit("m3", attachments: [.init(assetKey: "chat/1")])
        #expect(try await assets.renewableAssets() == all)
    }

    @Test func `an image of a message in memory is renewed until its conversation closes`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1", attachments: [.init(assetKey: "chat/1")])
        #expect(try await device.retention.hasEnded(assetKey: "chat/1") == false)
        try await device.retention.close(RetentionFixture.conversation)
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
    }
}
