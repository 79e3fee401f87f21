import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// What a purge removes, and what it leaves.
@Suite struct PurgeTests {
    @Test func `removes what is over, and nothing that is not`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for index in 0..<600 { try await device.admit("m\(index)", [.oneHour, .oneDay, .keep][index % 3]) }
        device.clocks.pass(.seconds(3599))
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.pass(.seconds(1))
        #expect(try await device.retention.purge().purgedCount == 200)
        #expect(try await device.shown().count == 400)
        #expect(Set(device.handler.ids) == Set((0..<200).map { "m\($0 * 3)" }))
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().purgedCount == 200)
        #expect(try await device.shown() == (0..<200).map { "m\($0 * 3 + 2)" })
    }

    @Test func `the files, the cached bytes and the recoveries of images go with their last message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let own = MessageAttachment(assetKey: "chat/1", releaseToken: "token 1")
        let shared = MessageAttachment(assetKey: "chat/2", releaseToken: "token 2")
        let author = RetentionFixture.own
        try await device.admit("m1", .oneHour, from: author, attachments: [own, shared])
        try await device.admit("m2", .oneDay, from: author, attachments: [MessageAttachment(assetKey: "chat/2")])
        try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asOwn)
        try await device.retention.keepAttachment(Data([2]), at: 0, of: "m2".asOwn)
        for key in ["chat/1", "chat/2", "other"] {
            let url = try #require(URL(string: "https://cdn.example.com/\(key)"))
            await device.recoveries.write(
                RecoveryRecord(
                    asset: .groupImage(url: url, conversationID: "c1"), key: key, since: device.clocks.now,
                    step: .expired))
        }
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(device.attachmentFiles.count == 1)
        #expect(device.cache.keys == ["chat/1"])
        #expect(Set(await device.recoveries.records().map(\.key)) == ["chat/2", "other"])
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1"])
        // The second message inherits the token.
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(device.attachmentFiles == [])
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1", "chat/2"])
        #expect(try device.count("release") == 0)
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
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
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
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
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

    @Test func `a purge ends though a peer's changes have ever more keys retire`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for index in 0..<300 { try await device.admit("m\(index)", from: RetentionFixture.own) }
        let year = try #require(MessageRetentionPolicy(afterSent: .seconds(31_536_000)))
        var version: Int64 = 1
        func change() async throws {
            try await device.admit("peer \(version)")
            device.clocks.pass(.seconds(1))
            try await device.receive(device.said(year, version: version, cutBefore: device.clocks.reading.wall))
            version += 1
        }
        try await change()
        let first = await device.storage.retiring
        #expect(!first.isEmpty)
        var calls = 0
        while try await device.storage.emptyRetiringKeys(first, limit: 16), calls < 100 {
            calls += 1
            try await change()
        }
        // What the first change has retired is empty, though others have retired since.
        #expect((18...20).contains(calls), "\(calls)")
        #expect(await device.storage.retiring.count > 1)
        #expect(try await device.retention.purge().stoppedBy == nil)
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

    @Test func `deleting all of a conversation leaves other ones, and messages that come later`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let other = RetentionFixture.conversation("c2")
        try await device.retention.updateRetentionPolicy(.keep, in: other, applyingTo: .newMessages)
        for index in 0..<50 { try await device.admit("m\(index)") }
        _ = try await device.retention.admit(device.incoming("other", in: other))
        let key = await device.storage.keyTable.ids
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).purgedCount == 50)
        #expect(try await device.shown() == [])
        #expect(try await device.retention.messages(in: other).count == 1)
        #expect(await device.storage.keyTable.ids.count == key.count - 1)
        try await device.admit("new")
        device.clocks.pass(.seconds(120))
        #expect(try await device.retention.purge().isComplete)
        try await device.relaunch()
        #expect(try await device.shown() == ["new"])
    }

    @Test func `deleting all of a conversation leaves nothing, however much of it is over already`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        _ = try await device.retention.admit((0..<300).map { try device.incoming("due\($0)", .oneHour) })
        _ = try await device.retention.admit((0..<600).map { try device.incoming("kept\($0)") })
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).purgedCount == 900)
        #expect(try device.count("message") == 0)
    }

    @Test func `erasing everything leaves no message, key or policy, also of what was moved aside`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", attachments: [.init(assetKey: "k")])
        try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference)
        let aside = device.folder.appendingPathComponent("messages.sqlite.corrupt-20270115T080000Z")
        try Data("a copy of the messages".utf8).write(to: aside)
        let key = await device.vault.value
        try await device.retention.eraseEverything()
        #expect(await device.vault.value != key)
        #expect(try device.files(with: Data("a copy of the messages".utf8)) == [])
        #expect(try device.count("conversation") == 0)
        #expect(device.attachmentFiles == [])
        #expect(try await device.retention.agreement(in: RetentionFixture.conversation).own == .noStorage)
        try await device.want(.keep)
        try await device.admit("m1")
        try await device.relaunch()
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `keys go at the end of their slot, and only then`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        // In slots of 225 seconds.
        try await device.admit("m1", .oneHour)
        device.clocks.pass(.seconds(1000))
        try await device.admit("m2", .oneHour)
        let keys = await device.storage.keyTable.ids.count
        device.clocks.pass(.seconds(2600))
        #expect(try await device.retention.purge().isComplete)
        #expect(await device.storage.keyTable.ids.count == keys)
        let next = try #require(try await device.retention.nextDeadline())
        #expect(next.timeIntervalSince(device.clocks.now) <= 225)
        device.clocks.pass(.seconds(225))
        let master = await device.vault.value
        #expect(try await device.retention.purge().isComplete)
        #expect(await device.storage.keyTable.ids.count == keys - 1)
        #expect(await device.vault.value != master)
        #expect(try await device.shown() == ["m2"])
    }

    @Test func `messages that end before their slot take its key with them, and what is left has another`() async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("theirs")
        try await device.admit(
            "another's", from: RetentionFixture.participant("third"), attachments: [.init(assetKey: "k")])
        let another = MessageReference(
            try "another's".asMessage, by: RetentionFixture.participant("third"), in: RetentionFixture.conversation)
        let file = try #require(try await device.retention.keepAttachment(Data([7]), at: 0, of: another))
        let former = try #require(await device.storage.keyTable.ids.first { $0.conversation > 0 })
        let key = await device.storage.keyTable[former]?.reveal()
        device.clocks.pass(.seconds(10))
        try await device.receive(device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.retention.purge().purgedCount == 1)
        let table = await device.storage.keyTable
        #expect(table[former] == nil)
        #expect(!table.ids.contains { table[$0]?.reveal() == key })
        try await device.relaunch()
        #expect(try await device.shown() == ["another's"])
        #expect(try await device.retention.attachment(file) == Data([7]))
    }
}

extension SQLiteMessageStorage {
    var keyTable: MessageKeyTable { keys.table }
}
