import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Keys of objects are no secret: what a peer names as an attachment decides nothing about this user's images.
@Suite struct ForeignImageTests {
    private let own = RetentionFixture.own

    private func assets(_ device: RetentionFixture) throws -> (RetainedAssets, [String: RenewableAsset]) {
        let base = try #require(URL(string: "https://cdn.example.com"))
        let keys = ["chat/1", "groups/1", "mine/1"]
        let assets = keys.map {
            RenewableAsset.groupImage(url: base.appendingPathComponent($0), conversationID: "c1")
        }
        let retained = RetainedAssets(
            AssetCollection(assets), retention: device.retention, baseURLs: try AssetBaseURLs([base]))
        return (retained, Dictionary(uniqueKeysWithValues: zip(keys, assets)))
    }

    @Test(arguments: [nil, "chat/"]) func `a peer cannot end the renewal of a picture that is no message's`(
        prefix: String?
    ) async throws {
        let device = try await RetentionFixture(chatKeyPrefix: prefix)
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, attachments: ["chat/1", "groups/1"].map { .init(assetKey: $0) })
        try await device.admit("m2", .oneHour, from: own, attachments: [.init(assetKey: "mine/1")])
        try await device.admit("m3", .noStorage, attachments: [.init(assetKey: "groups/1")])
        for key in ["chat/1", "groups/1"] {
            let url = try #require(URL(string: "https://cdn.example.com/\(key)"))
            await device.recoveries.write(
                RecoveryRecord(
                    asset: .groupImage(url: url, conversationID: "c1"), key: key, since: device.clocks.now,
                    step: .expired))
        }
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        try await device.retention.close(RetentionFixture.conversation)
        let (retained, all) = try assets(device)
        let renewed = try await retained.renewableAssets()
        // Without the prefix no key of a peer's counts; with it those below it do.
        let expected = prefix == nil ? ["chat/1", "groups/1"] : ["groups/1"]
        #expect(renewed == expected.compactMap { all[$0] })
        #expect(Set(await device.recoveries.records().map(\.key)) == Set(expected))
        #expect(device.cache.keys.contains("chat/1"))
        #expect(device.cache.keys.contains("groups/1") == (prefix == nil))
    }

    @Test func `a peer who names this user's image does not keep the bucket from deleting it`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: own, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        try await device.admit("pin", attachments: [.init(assetKey: "chat/1")])
        try await device.admit("pin in memory", .noStorage, attachments: [.init(assetKey: "chat/1")])
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 1)
        // Recorded, and named again.
        try await device.admit("late pin", attachments: [.init(assetKey: "chat/1")])
        try await device.admit("late pin in memory", .noStorage, attachments: [.init(assetKey: "chat/1")])
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1"])
    }

    @Test func `what a peer calls a token is not kept, and not sent`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, attachments: [.init(assetKey: "chat/1", releaseToken: "forged")])
        #expect(try await device.retention.message("m1".asReference)?.attachments == [.init(assetKey: "chat/1")])
        try await device.admit(
            "m2", .oneDay, from: own, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 0)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().releaseCount == 1)
        let token = try device.connect().first("SELECT token FROM release") { $0.text(0) }
        #expect(token == "token")
    }
}
