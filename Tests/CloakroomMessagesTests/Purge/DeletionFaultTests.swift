import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// What the user deletes cannot be opened any more, whatever fails.
@Suite struct DeletionFaultTests {
    private let conversation = RetentionFixture.conversation

    private func prepared() async throws -> (RetentionFixture, kept: ConversationID) {
        let device = try await RetentionFixture()
        let other = RetentionFixture.conversation("c2")
        try await device.want(.keep)
        try await device.retention.updateRetentionPolicy(.keep, in: other, applyingTo: .newMessages)
        try await device.admit("m1", .oneDay)
        try await device.admit("m2")
        _ = try await device.retention.admit(device.incoming("kept", in: other))
        return (device, other)
    }

    private func expectNoKeys(_ device: RetentionFixture, _ former: MessageKeyTable) async throws {
        let left = await device.storage.keyTable
        let keys = left.ids.compactMap { left[$0]?.reveal() }
        // That of names, and that of the other conversation.
        #expect(keys.count == 2)
        #expect(Set(keys).isSubset(of: former.ids.compactMap { former[$0]?.reveal() }))
        #expect(try await device.shown() == [])
    }

    @Test func `deleting all drops the keys while a handler throws`() async throws {
        let (device, other) = try await prepared()
        let former = await device.storage.keyTable
        let master = await device.vault.value
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        #expect(try await device.retention.deleteAll(in: conversation).stoppedBy?.code == .storeFailed)
        #expect(await device.vault.value != master)
        try await expectNoKeys(device, former)
        device.handler.fail(with: nil)
        device.clocks.pass(.seconds(60))
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.count("message") == 1)
        #expect(Set(device.handler.ids) == ["m1", "m2"])
        #expect(try await device.retention.messages(in: other).count == 1)
        #expect(try await device.admit("m1") == .replay)
    }

    @Test func `deleting all drops the keys when it cannot be written, and is written later`() async throws {
        let (device, _) = try await prepared()
        let former = await device.storage.keyTable
        let master = await device.vault.value
        let changes = await device.retention.changes
        _ = try await device.storage.pragmas(["busy_timeout = 0"])
        let writer = try device.connect()
        try writer.run("BEGIN IMMEDIATE")
        #expect(try await device.retention.deleteAll(in: conversation).stoppedBy != nil)
        #expect(await device.retention.changes > changes)
        #expect(await device.vault.value != master)
        try await expectNoKeys(device, former)
        #expect(try await device.retention.messageCount(in: conversation) == 0)
        try writer.run("COMMIT")
        device.clocks.pass(.seconds(60))
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.count("message") == 1)
        try await device.admit("new")
        try await device.relaunch()
        #expect(try await device.shown() == ["new"])
    }

    @Test func `a message that is deleted and not purged yet gets no stamp`() async throws {
        let (device, _) = try await prepared()
        #expect(try await device.retention.stamp(of: "m2".asReference) != nil)
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        try await device.retention.deleteAll(in: conversation)
        #expect(try await device.retention.stamp(of: "m2".asReference) == nil)
        #expect(try device.count("message") == 3)
    }

    @Test func `an attachment whose new bytes cannot be kept has the former ones`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", attachments: [.init(assetKey: "chat/1")])
        let former = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference))
        let missing = device.folder.appendingPathComponent("no such file")
        #expect(
            await CloakroomError.code {
                _ = try await device.retention.keepAttachment(contentsOf: missing, at: 0, of: "m1".asReference)
            } == .unreadableFile)
        try await device.relaunch()
        #expect(try await device.retention.message("m1".asReference)?.attachments.first?.file == former)
        #expect(try await device.retention.attachment(former) == Data([1]))
        // And those that can be kept replace them.
        let new = try #require(try await device.retention.keepAttachment(Data([2]), at: 0, of: "m1".asReference))
        #expect(try await device.retention.attachment(new) == Data([2]))
        #expect(device.attachmentFiles == [new.rawValue])
    }

    @Test func `an attachment whose first bytes cannot be kept has no file, also after another launch`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let attachment = MessageAttachment(assetKey: "chat/1")
        try await device.admit("m1", attachments: [attachment])
        let (retention, message) = (device.retention, try "m1".asReference)
        let missing = device.folder.appendingPathComponent("no such file")
        #expect(
            await CloakroomError.code {
                _ = try await retention.keepAttachment(contentsOf: missing, at: 0, of: message)
            } == .unreadableFile)
        #expect(try await retention.message(message)?.attachments == [attachment])
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await retention.keepAttachment(Data([1]), at: 0, of: message)
        }
        #expect(await CloakroomError.code { try await cancelled.value } == .cancelled)
        #expect(try await retention.message(message)?.attachments == [attachment])
        #expect(device.attachmentFiles == [])
        try await device.relaunch()
        #expect(try await device.retention.message(message)?.attachments == [attachment])
        // And those that can be kept are.
        let file = try #require(try await device.retention.keepAttachment(Data([2]), at: 0, of: message))
        #expect(try await device.retention.attachment(file) == Data([2]))
        #expect(device.attachmentFiles == [file.rawValue])
    }

    @Test func `an attachment whose file is gone has none after another launch, and the others have theirs`()
        async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for id in ["m1", "m2"] { try await device.admit(id, attachments: [.init(assetKey: "chat/\(id)")]) }
        let gone = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference))
        let left = try #require(try await device.retention.keepAttachment(Data([2]), at: 0, of: "m2".asReference))
        try FileManager.default.removeItem(
            at: device.folder.appendingPathComponent("attachments").appendingPathComponent(gone.rawValue))
        try await device.relaunch()
        #expect(
            try await device.retention.message("m1".asReference)?.attachments
                == [MessageAttachment(assetKey: "chat/m1")])
        #expect(try await device.retention.message("m2".asReference)?.attachments.first?.file == left)
        #expect(try await device.retention.attachment(left) == Data([2]))
        #expect(try device.count("attachment WHERE file IS NOT NULL OR file_key IS NOT NULL") == 1)
    }

    @Test func `keys that can go do, while what another one has sealed cannot be sealed anew`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour)
        try await device.admit("theirs")
        try await device.admit("another's", from: RetentionFixture.participant("third"))
        let ended = try #require(await device.storage.keyTable.ids.first { !$0.slot.isEndless })
        device.clocks.pass(.seconds(4000))
        try await device.receive(device.said(.oneDay, version: 9, cutBefore: device.clocks.reading.wall))
        let retiring = try #require(await device.storage.retiring.first)
        let master = await device.vault.value
        _ = try await device.storage.pragmas(["busy_timeout = 0"])
        let writer = try device.connect()
        try writer.run("BEGIN IMMEDIATE")
        #expect(try await device.retention.purge().stoppedBy != nil)
        #expect(await device.vault.value != master)
        #expect(await !device.storage.keyTable.ids.contains(ended))
        #expect(await device.storage.keyTable.ids.contains(retiring))
        #expect(try await device.shown() == ["theirs", "another's"])
        try writer.run("COMMIT")
        device.clocks.pass(.seconds(60))
        #expect(try await device.retention.purge().isComplete)
        #expect(await !device.storage.keyTable.ids.contains(retiring))
        #expect(try await device.shown() == ["theirs", "another's"])
    }

    @Test func `what is deleted while a change is being written is not sealed anew, though a handler throws`()
        async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for index in 0..<3 { try await device.admit("m\(index)") }
        device.clocks.pass(.seconds(1))
        let message = try device.said(.oneHour, version: 9, cutBefore: device.clocks.reading.wall)
        try await device.storage.join(
            try #require(message.register), of: RetentionFixture.peer, in: RetentionFixture.conversation)
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).stoppedBy != nil)
        #expect(await device.storage.keyTable.ids.filter { $0.conversation > 0 } == [])
        #expect(try device.count("message") == 3)
    }

    @Test func `a change that cannot be written to all messages holds, and is written by the next purge`() async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("stored", age: .seconds(7200))
        try await device.admit("in memory", .noStorage, age: .seconds(7200))
        let other = try device.connect()
        try other.run("CREATE TRIGGER full BEFORE UPDATE ON message BEGIN SELECT RAISE(ABORT, 'no room'); END")
        let message = try await device.retention.updateRetentionPolicy(
            .oneHour, in: RetentionFixture.conversation, applyingTo: .history)
        #expect(message.policy == .oneHour)
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().stoppedBy != nil)
        #expect(device.handler.ids == ["in memory"])
        try other.run("DROP TRIGGER full")
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `the image of a message in memory goes though its end could not be written at first`() async throws {
        let device = try await RetentionFixture()
        try await device.admit(
            "m1", .noStorage, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        _ = try await device.storage.pragmas(["busy_timeout = 0"])
        let writer = try device.connect()
        try writer.run("BEGIN IMMEDIATE")
        #expect(await CloakroomError.code { try await device.retention.close(RetentionFixture.conversation) } != nil)
        #expect(device.handler.ids == ["m1"])
        try writer.run("COMMIT")
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(device.cache.keys == ["chat/1"])
        #expect(try await device.retention.hasEnded(assetKey: "chat/1"))
        #expect(try await device.retention.releaseAssets() == 1)
    }

    // MARK: One message

    @Test(arguments: [true, false]) func `one message is deleted with what sealed it, and the others stay`(
        knowsServer: Bool
    ) async throws {
        let device = try await RetentionFixture(server: knowsServer)
        try await device.want(.keep)
        for id in ["m1", "m2"] { try await device.admit(id, attachments: [.init(assetKey: "chat/\(id)")]) }
        try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference)
        let left = try #require(try await device.retention.keepAttachment(Data([2]), at: 0, of: "m2".asReference))
        let former = await device.storage.keyTable
        let master = await device.vault.value
        #expect(try await device.retention.delete("m1".asReference).purgedCount == 1)
        #expect(device.handler.ids == ["m1"])
        #expect(device.attachmentFiles == [left.rawValue])
        #expect(await device.vault.value != master)
        let table = await device.storage.keyTable
        let sealing = former.ids.filter { $0.conversation > 0 }.compactMap { former[$0]?.reveal() }
        #expect(sealing.count == 1)
        #expect(Set(sealing).isDisjoint(with: table.ids.compactMap { table[$0]?.reveal() }))
        // Again: nothing happens.
        #expect(try await device.retention.delete("m1".asReference).purgedCount == 0)
        #expect(try await device.admit("m1") == .replay)
        try await device.relaunch()
        #expect(try await device.shown() == ["m2"])
        #expect(try await device.retention.message("m2".asReference)?.body == RetentionFixture.body("m2"))
        #expect(try await device.retention.attachment(left) == Data([2]))
    }

    @Test func `one message that is deleted stays so while a handler throws, and after a kill`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for id in ["m1", "m2"] { try await device.admit(id) }
        let former = await device.storage.keyTable
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        #expect(try await device.retention.delete("m1".asReference).stoppedBy?.code == .storeFailed)
        let table = await device.storage.keyTable
        let sealing = former.ids.filter { $0.conversation > 0 }.compactMap { former[$0]?.reveal() }
        #expect(Set(sealing).isDisjoint(with: table.ids.compactMap { table[$0]?.reveal() }))
        for isKilled in [false, true] {
            if isKilled { try await device.relaunchKilled() }
            #expect(try await device.shown() == ["m2"])
            #expect(try await device.retention.messageCount(in: conversation) == 1)
            #expect(try await device.retention.message("m1".asReference) == nil)
            #expect(try await device.retention.stamp(of: "m1".asReference) == nil)
            #expect(try await device.admit("m1") == .replay)
            #expect(try device.count("message") == 2)
        }
        device.handler.fail(with: nil)
        device.clocks.pass(.seconds(60))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(Set(device.handler.ids) == ["m1"])
        #expect(try device.count("message") == 1)
    }

    @Test func `one message whose deletion cannot be written is as it was`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneDay)
        let message = try "m1".asReference
        _ = try await device.storage.pragmas(["busy_timeout = 0"])
        let writer = try device.connect()
        try writer.run("BEGIN IMMEDIATE")
        #expect(await CloakroomError.code { _ = try await device.retention.delete(message) } != nil)
        #expect(try await device.shown() == ["m1"])
        try writer.run("COMMIT")
        #expect(await device.storage.retiring == [])
        #expect(try await device.retention.delete(message).purgedCount == 1)
        #expect(try await device.shown() == [])
    }

    // MARK: Erasing everything

    @Test func `erasing everything has handlers remove what they have, and a kill does not stop it`() async throws {
        for isKilled in [false, true] {
            let (device, _) = try await prepared()
            try await device.want(.noStorage)
            try await device.admit("in memory")
            if isKilled {
                try await device.storage.beginErasing()
                try await device.relaunchKilled()
            } else {
                device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
                #expect(await CloakroomError.code { try await device.retention.eraseEverything() } == .storeFailed)
            }
            let handled = Set(device.handler.ids)
            #expect(handled == (isKilled ? ["m1", "m2", "kept"] : ["m1", "m2", "kept", "in memory"]))
            #expect(await device.storage.losses == [])
            for table in ["conversation", "message", "known", "memory_note"] {
                #expect(try device.count(table) == 0, "\(table)")
            }
            #expect(try await device.retention.agreement(in: conversation).own == .noStorage)
            try await device.want(.keep)
            try await device.admit("m1")
            try await device.relaunch()
            #expect(try await device.shown() == ["m1"])
        }
    }

    @Test func `nothing is kept while erasing everything has not been completed`() async throws {
        let (device, _) = try await prepared()
        try await device.storage.beginErasing()
        #expect(await CloakroomError.code { try await device.admit("new") } == .storeFailed)
        // Nor by the next launch, as long as it has not gone on with it.
        await device.storage.release()
        let storage = try await SQLiteMessageStorage(
            folder: device.folder, vault: device.vault, reading: device.clocks.reading, step: { _ in })
        let conversation = conversation
        #expect(
            await CloakroomError.code { try await storage.setMembers([RetentionFixture.own], of: conversation) }
                == .storeFailed)
        await storage.release()
        try await device.relaunch()
        try await device.want(.keep)
        #expect(try await device.admit("new") == .kept(until: nil))
        #expect(try await device.shown() == ["new"])
    }
}
