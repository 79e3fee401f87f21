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
