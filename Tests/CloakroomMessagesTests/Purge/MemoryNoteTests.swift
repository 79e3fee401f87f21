import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Messages in memory leave nothing elsewhere: not when they end, and not when the process is killed.
@Suite struct MemoryNoteTests {
    private let own = RetentionFixture.own
    private let conversation = RetentionFixture.conversation

    private func image(_ token: String? = "token") -> [MessageAttachment] {
        [.init(assetKey: "chat/secret", releaseToken: token)]
    }

    @Test func `after a kill, handlers and the bucket are told of messages that were in memory`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1", .noStorage, from: own, attachments: image())
        try await device.admit("m2")
        // Not before they end.
        #expect(try await device.retention.releaseAssets() == 0)
        #expect(try await device.retention.nextDeadline() == device.clocks.later(.seconds(365 * 86_400)))
        try await device.relaunchKilled()
        #expect(try await device.shown() == [])
        #expect(try await device.retention.nextDeadline() == device.clocks.now)
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(Set(device.handler.ids) == ["m1", "m2"])
        #expect(device.cache.keys == ["chat/secret"])
        #expect(try await device.retention.hasEnded(assetKey: "chat/secret"))
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(try device.count("memory_note") == 0)
        // Once.
        try await device.relaunchKilled()
        try await device.retention.purge()
        #expect(device.handler.ids.count == 2)
    }

    @Test func `names and images of messages in memory are in no file, and their key goes with the last`() async throws
    {
        let device = try await RetentionFixture()
        try await device.admit("secret name", .noStorage, from: own, attachments: image("secret token"))
        try await device.admit("another")
        for text in ["secret name", "chat/secret", "secret token"] {
            #expect(try device.files(with: Data(text.utf8)) == [], "\(text)")
        }
        let count = await device.storage.keyTable.ids.count
        let master = await device.vault.value
        try await device.retention.close(conversation)
        #expect(try await device.retention.purge().isComplete)
        #expect(await device.storage.keyTable.ids.count == count - 1)
        #expect(await device.vault.value != master)
        #expect(try device.count("memory_note") == 0)
    }

    @Test func `a handler that throws at the close is called again by a purge`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1", .noStorage, from: own, attachments: image())
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        #expect(await CloakroomError.code { try await device.retention.close(conversation) } == .storeFailed)
        #expect(try await device.shown() == [])
        try await device.relaunch()
        device.handler.fail(with: nil)
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(device.handler.ids == ["m1", "m1"])
    }

    @Test func `one message in memory is deleted with its image, and the others stay`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1", .noStorage, from: own, attachments: image())
        try await device.admit("m2")
        try await device.retention.delete("m1".asOwn)
        #expect(try await device.shown() == ["m2"])
        #expect(device.handler.ids == ["m1"])
        #expect(try device.count("memory_note") == 1)
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(try await device.admit("m1", .noStorage, from: own) == .replay)
    }

    @Test(arguments: [false, true]) func `an image that is here again in memory is not deleted before it ends`(
        isKilled: Bool
    ) async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: own, attachments: image())
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 1)
        // Another message of this user's with it, which has no token.
        try await device.admit("m2", .noStorage, from: own, attachments: image(nil))
        #expect(try await device.retention.releaseAssets() == 0)
        #expect(try await device.retention.hasEnded(assetKey: "chat/secret") == false)
        if isKilled { try await device.relaunchKilled() } else { try await device.retention.close(conversation) }
        try await device.retention.purge()
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(try device.count("release") == 0)
    }

    @Test func `an image that is here again while its release fails is not released before it ends`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: own, attachments: image())
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        let now = await device.storage.clock.device
        let sent = try await device.storage.releases(now: now, retry: false, limit: 100)
        #expect(sent.count == 1)
        try await device.admit("m2", .noStorage, from: own, attachments: image(nil))
        try await device.storage.finish(sent, [], now: now)
        device.clocks.pass(.seconds(90_000))
        #expect(try await device.retention.releaseAssets() == 0)
        try await device.retention.close(conversation)
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `a token of a message in memory goes to the stored message that has its image`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: own, attachments: image(nil))
        try await device.admit("m2", .noStorage, from: own, attachments: image())
        try await device.retention.close(conversation)
        #expect(try await device.retention.releaseAssets() == 0)
        // And to one in memory, while a stored one that has it ends first.
        try await device.admit("m3", .noStorage, from: own, attachments: image(nil))
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try await device.retention.releaseAssets() == 0)
        try await device.retention.close(conversation)
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `attachments of a message in memory are not returned once it is over`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1", .oneHour, attachments: [.init(assetKey: "chat/1")])
        let stamp = MessageStamp(policy: .oneHour)
        var incoming = try device.incoming("m2", attachments: [.init(assetKey: "chat/2")])
        incoming.stamp = stamp
        _ = try await device.retention.admit(incoming)
        let file = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference))
        #expect(try await device.retention.attachment(file) == Data([1]))
        device.clocks.pass(.seconds(3600))
        #expect(try await device.shown() == [])
        #expect(await CloakroomError.code { _ = try await device.retention.attachment(file) } == .unreadableFile)
    }
}
