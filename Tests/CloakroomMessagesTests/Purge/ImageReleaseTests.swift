import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// When the images of messages are released, and how often that is tried.
@Suite struct ImageReleaseTests {
    /// The release of one image is recorded, and was not tried yet.
    private func recorded() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        return device
    }

    @Test func `an image that is sent again is not deleted, and goes with the new message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let author = RetentionFixture.own
        try await device.admit(
            "m1", .oneHour, from: author, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        try await device.admit("m2", .oneHour, from: author, attachments: [MessageAttachment(assetKey: "chat/1")])
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `releases are repeated until the worker has a final result for each`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for index in 0..<3 {
            try await device.admit(
                "m\(index)", .oneHour, from: RetentionFixture.own,
                attachments: [.init(assetKey: "chat/\(index)", releaseToken: "token")])
        }
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().isComplete)
        device.releaser.fail(with: CloakroomError(.unreachable, "offline"))
        #expect(await CloakroomError.code { try await device.retention.releaseAssets() } == .unreachable)
        #expect(try await device.retention.releaseAssets(retry: false) == 0)
        try await device.relaunch()
        device.releaser.fail(with: nil)
        device.releaser.set(.refused(reason: "forbidden"), for: "chat/1")
        device.releaser.set(.failed(reason: "unavailable"), for: "chat/2")
        device.clocks.pass(.seconds(61))
        #expect(try await device.retention.releaseAssets(retry: false) == 1)
        #expect(try device.count("release") == 2)
        device.releaser.set(.released(bytesGoneBy: nil), for: "chat/2")
        device.clocks.pass(.seconds(130))
        #expect(try await device.retention.releaseAssets(retry: false) == 1)
        // Workers whose keys are being changed refuse tokens that are right.
        #expect(try await remaining(device) == 86_400_000 - 130_000)
        device.releaser.set(.released(bytesGoneBy: nil), for: "chat/1")
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.releaseAssets(retry: false) == 1)
        #expect(try device.count("release") == 0)
    }

    /// Until the next release, in milliseconds.
    private func remaining(_ device: RetentionFixture) async throws -> Milliseconds? {
        try await device.storage.releasesRemaining(now: device.storage.clock(at: device.clocks.reading).device)
    }

    @Test func `a release that is refused for a month is given up`() async throws {
        let device = try await recorded()
        device.releaser.set(.refused(reason: "forbidden"), for: "chat/1")
        for day in 0..<40 {
            #expect(try await device.retention.releaseAssets(retry: false) == 0)
            // Also for an app that asks for it all the time.
            for _ in 0..<3 { #expect(try await device.retention.releaseAssets() == 0) }
            #expect(try device.count("release") == (day < 30 ? 1 : 0), "\(day)")
            device.clocks.pass(.seconds(86_400))
        }
        #expect(device.releaser.keys.count == 31)
    }

    @Test func `without a network a release is tried each quarter of an hour, and when the app says so`() async throws {
        let device = try await recorded()
        device.releaser.fail(with: CloakroomError(.unreachable, "offline"))
        for _ in 0..<20 {
            _ = try? await device.retention.releaseAssets(retry: false)
            device.clocks.pass(.seconds(3600))
        }
        _ = try? await device.retention.releaseAssets(retry: false)
        #expect(try await remaining(device) == 900_000)
        device.releaser.fail(with: nil)
        #expect(try await device.retention.releaseAssets(retry: false) == 0)
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `an image of what the user deletes is released when the message ends for the others`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let own = RetentionFixture.own
        let images = (1...3).map { [MessageAttachment(assetKey: "chat/\($0)", releaseToken: "token")] }
        try await device.admit("m1", .oneHour, from: own, attachments: images[0])
        try await device.admit("m2", .keep, from: own, attachments: images[1])
        // Of two messages that have it, the last.
        try await device.admit("m3", .oneHour, from: own, attachments: images[2])
        try await device.admit("m4", .oneDay, from: own, attachments: images[2])
        device.clocks.pass(.seconds(600))
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).purgedCount == 4)
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
        #expect(try await device.retention.releaseAssets() == 0)
        // After a kill, too, and whatever the clock is set to.
        try await device.relaunchKilled()
        device.clocks.set(by: .seconds(2 * 86_400))
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.set(by: .seconds(-2 * 86_400))
        device.clocks.hearServer()
        #expect(try await device.retention.nextDeadline() == device.clocks.later(.seconds(3000)))
        device.clocks.pass(.seconds(3000))
        #expect(try await device.retention.releaseAssets() == 1)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1", "chat/3"])
        // That of a message without an end has the bucket's rule.
        #expect(try device.count("release") == 0)
    }

    @Test func `an image of one message that the user deletes is released when it ends for the others`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for (id, policy) in [("m1", MessageRetentionPolicy.oneHour), ("m2", .keep)] {
            try await device.admit(
                id, policy, from: RetentionFixture.own,
                attachments: [MessageAttachment(assetKey: "chat/\(id)", releaseToken: "token")])
            #expect(try await device.retention.delete(id.asOwn).purgedCount == 1)
            #expect(try await device.retention.hasEnded(assetKey: "chat/\(id)"))
        }
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.milliseconds(3_599_999))
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.milliseconds(1))
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/m1"])
        // The other has the bucket's rule.
        #expect(try device.count("release") == 0)
    }

    @Test(arguments: [true, false])
    func `an image of what was deleted stays as long as others have it, also when another message has it here`(
        isLater: Bool
    ) async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let own = RetentionFixture.own
        let image = MessageAttachment(assetKey: "chat/1", releaseToken: "token")
        func another() async throws {
            _ = try await device.retention.admit(
                device.incoming(
                    "m2", .oneHour, from: own, in: RetentionFixture.conversation("c2"),
                    attachments: [MessageAttachment(assetKey: "chat/1")]))
        }
        try await device.retention.updateRetentionPolicy(
            .keep, in: RetentionFixture.conversation("c2"), applyingTo: .newMessages)
        try await device.admit("m1", .oneWeek, from: own, attachments: [image])
        if !isLater { try await another() }
        try await device.retention.deleteAll(in: RetentionFixture.conversation)
        if isLater { try await another() }
        try await device.relaunchKilled()
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.seconds(7 * 86_400 - 3600 - 1))
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.seconds(1))
        #expect(try await device.retention.releaseAssets() == 1)
    }

    @Test func `a handler that throws holds back no release that is recorded`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        try await device.admit("m2", .oneDay)
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        device.clocks.pass(.seconds(86_400))
        let slept = AsyncStream<Void>.makeStream()
        device.interruption.onSleep.withLock {
            $0 = { _ in
                slept.continuation.yield()
                try await Task.sleep(for: .seconds(3600))
            }
        }
        let retention = device.retention
        let running = Task { await retention.run() }
        for await _ in slept.stream { break }
        #expect(device.releaser.keys == ["chat/1"])
        running.cancel()
        await running.value
    }

    @Test func `an image of a stored message is not released when a kill ends the message in memory that has it, too`()
        async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let (own, image) = (RetentionFixture.own, MessageAttachment(assetKey: "chat/1", releaseToken: "token"))
        let other = RetentionFixture.conversation("c2")
        try await device.admit("m1", .noStorage, from: own, attachments: [image])
        _ = try await device.retention.admit(
            device.incoming("m2", .noStorage, from: own, in: other, attachments: [image]))
        try await device.admit("m3", .keep, from: own, attachments: [image])
        try await device.retention.close(RetentionFixture.conversation)
        try await device.relaunchKilled()
        #expect(try await device.retention.releaseAssets() == 0)
        try await device.retention.purge()
        #expect(try await device.retention.releaseAssets() == 0)
        #expect(try await device.retention.message("m3".asOwn)?.attachments.map(\.releaseToken) == ["token"])
    }

    @Test func `images of messages in memory are released when their conversation closes`() async throws {
        let device = try await RetentionFixture()
        try await device.admit(
            "m1", .noStorage, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        try await device.retention.close(RetentionFixture.conversation)
        #expect(try await device.retention.releaseAssets() == 1)
    }
}
