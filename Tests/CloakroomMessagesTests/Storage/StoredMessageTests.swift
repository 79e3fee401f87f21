import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// What is shown, and what is on the disk.
@Suite struct StoredMessageTests {
    @Test func `gives a message as it was admitted, also after another launch`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        let attachments = [MessageAttachment(assetKey: "chat/1", releaseToken: "token")]
        #expect(
            try await device.admit("m1", .oneHour, from: RetentionFixture.own, attachments: attachments)
                == .kept(until: device.clocks.later(.seconds(3600))))
        try await device.relaunch()
        let message = try #require(try await device.retention.messages(in: RetentionFixture.conversation).first)
        #expect(message.body == RetentionFixture.body("m1"))
        #expect(message.author == RetentionFixture.own)
        #expect(message.attachments == attachments)
        #expect(message.expiration == device.clocks.later(.seconds(3600)))
        #expect(message.isStored)
    }

    @Test func `no file has the body of a message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        try await device.admit("m1")
        let bytes = Data("the bytes of an image, which must not be found".utf8)
        try await device.admit("m2", attachments: [MessageAttachment(assetKey: "chat/1")])
        let file = try #require(try await device.retention.keepAttachment(bytes, at: 0, of: "m2".asReference))
        #expect(try device.files(with: Data("must not be found".utf8)) == [])
        #expect(try await device.retention.attachment(file) == bytes)
        try await device.relaunch()
        #expect(try await device.retention.attachment(file) == bytes)
    }

    @Test func `what is not to be stored is in no file, and ends with its conversation`() async throws {
        let device = try await RetentionFixture()
        #expect(try await device.admit("secret name", .oneDay) == .kept(until: device.clocks.later(.seconds(86_400))))
        #expect(try await device.shown() == ["secret name"])
        #expect(try device.files(with: Data("secret name".utf8)) == [])
        #expect(try device.count("message") == 0)
        try await device.retention.close(RetentionFixture.conversation)
        #expect(try await device.shown() == [])
        #expect(device.handler.ids == ["secret name"])
        #expect(try await device.admit("secret name", .oneDay) == .replay)
    }

    @Test func `a message is not returned once it is over, by no call`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1", attachments: [MessageAttachment(assetKey: "k")])
        let file = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asReference))
        device.clocks.pass(.milliseconds(3_599_999))
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.milliseconds(1))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.message("m1".asReference) == nil)
        #expect(try await device.retention.stamp(of: "m1".asReference) == nil)
        #expect(try await device.retention.impact(of: .noStorage, in: RetentionFixture.conversation) == 0)
        #expect(
            await CloakroomError.code { _ = try await device.retention.attachment(file) } == .unreadableFile)
    }

    @Test func `a message that a clock hides has no stamp now, and is not said to be over`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        try await device.admit("m1", .oneDay, from: RetentionFixture.own)
        try await device.admit("m2", .noStorage, from: RetentionFixture.own)
        device.clocks.set(by: .seconds(400 * 86_400))
        for id in ["m1", "m2"] {
            #expect(
                await CloakroomError.code { _ = try await device.retention.stamp(of: id.asOwn) } == .unavailable,
                "\(id)")
        }
        device.clocks.set(by: .seconds(-400 * 86_400))
        #expect(try await device.retention.stamp(of: "m1".asOwn)?.policy == .oneDay)
        #expect(try await device.retention.stamp(of: "m2".asOwn)?.policy == .noStorage)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.stamp(of: "m1".asOwn) == nil)
        try await device.retention.close(RetentionFixture.conversation)
        #expect(try await device.retention.stamp(of: "m2".asOwn) == nil)
    }

    @Test func `pages follow each other without gaps, also where messages were sent at once`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        for index in 0..<7 {
            try await device.admit("a\(index)")
            if index % 3 == 0 { device.clocks.pass(.milliseconds(1)) }
        }
        try await device.want(.noStorage)
        for index in 0..<5 { try await device.admit("b\(index)") }
        var pages: [[String]] = []
        var cursor: MessageCursor?
        repeat {
            let page = try await device.retention.messages(
                in: RetentionFixture.conversation, before: cursor, limit: 4)
            pages.append(page.map(\.id.rawValue))
            cursor = page.last?.cursor
        } while cursor != nil
        #expect(pages.map(\.count) == [4, 4, 4, 0])
        #expect(pages.joined().reversed() == (0..<7).map { "a\($0)" } + (0..<5).map { "b\($0)" })
    }

    @Test func `a deadline cannot be raised, by no statement`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1", .oneDay)
        let database = try device.connect()
        for change in ["deadline = deadline + 1", "deadline = NULL", "shared = shared + 1", "shared = NULL"] {
            #expect(throws: SQLiteError.self, "\(change)") { try database.run("UPDATE message SET \(change)") }
        }
        try database.run("UPDATE message SET deadline = deadline - 1")
    }

    @Test func `a purge leaves at most 32 bytes of a message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let count = 4000
        for _ in 0..<4 {
            _ = try await device.retention.admit(
                try (0..<count / 4).map { _ in try device.incoming(UUID().uuidString, relayTime: device.clocks.now) })
        }
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == count)
        let database = try device.connect()
        #expect(try device.tombstoneCount() == count)
        let pages = try database.first(
            "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'known')"
        ) { $0.integer(0) }
        #expect(try #require(pages) <= 32 * Int64(count), "\(pages ?? 0) bytes")
    }

    @Test func `the database overwrites what it deletes, and has no other temporary files`() async throws {
        let device = try await RetentionFixture()
        let values = try await device.storage.pragmas(["secure_delete", "temp_store", "synchronous", "foreign_keys"])
        #expect(values == ["1", "2", "2", "1"])
        #expect(try await device.storage.pragmas(["journal_mode"]) == ["wal"])
    }

    @Test func `another process cannot open the folder`() async throws {
        let device = try await RetentionFixture()
        let folder = device.folder
        #expect(
            await CloakroomError.code { _ = try await SQLiteMessageStorage(folder: folder, vault: MemoryVault()) }
                == .storeInUse)
    }

    @Test func `counts the messages of a conversation, and none of one that is not known`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for id in ["m1", "m2"] { try await device.admit(id) }
        #expect(try await device.retention.messageCount(in: RetentionFixture.conversation) == 2)
        #expect(try await device.retention.messageCount(in: RetentionFixture.conversation("other")) == 0)
    }

    @Test func `an attachment that is kept in memory is that of its own message`() async throws {
        let device = try await RetentionFixture()
        for id in ["m1", "m2"] {
            try await device.admit(id, .noStorage, attachments: [MessageAttachment(assetKey: "chat/\(id)")])
        }
        let file = try await device.retention.keepAttachment(Data("two".utf8), at: 0, of: "m2".asReference)
        #expect(file != nil)
        let messages = try await device.retention.messages(in: RetentionFixture.conversation)
        #expect(
            Dictionary(uniqueKeysWithValues: messages.map { ($0.id.rawValue, $0.attachments) }) == [
                "m1": [MessageAttachment(assetKey: "chat/m1")],
                "m2": [MessageAttachment(assetKey: "chat/m2", file: file)],
            ])
    }
}

extension TestClocks {
    var now: Date { reading.wall.date }
    func later(_ duration: Duration) -> Date { reading.wall.plus(Milliseconds(duration)).date }
}

extension SQLiteMessageStorage {
    func pragmas(_ names: [String]) throws -> [String] {
        try names.map { name in
            try database.perform { database throws(SQLiteError) in
                try database.first("PRAGMA \(name)") { $0.text(0) } ?? ""
            }
        }
    }
}
