import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// A database of the first version of the schema goes on as if it had always been one of this version.
@Suite struct SchemaMigrationTests {
    private func migrate(_ device: RetentionFixture) async throws {
        await device.storage.close()
        try FormerSchema.replace(device.folder.appendingPathComponent("messages.sqlite"))
        let former = try device.connect()
        #expect(try former.userVersion == 1)
        #expect(try former.first("SELECT count(*) FROM message WHERE length(id) = 12") { $0.integer(0) } != 0)
        former.close()
        try await device.relaunch()
    }

    @Test func `keeps messages, files, tombstones, quotes and numbers`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let relayTime = device.clocks.now
        try await device.admit("relayed", .oneDay, relayTime: relayTime)
        try await device.admit("m1", .oneHour)
        try await device.admit("m2", .oneWeek, attachments: [.init(assetKey: "chat/1")])
        let file = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: "m2".asReference))
        try await device.admit("m3", .oneDay, quotes: "m2")
        try await device.admit("last", .oneHour)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 2)
        let known = try device.connect().rows("SELECT id, until FROM known ORDER BY id") {
            "\($0.blob(0)) \($0.integer(1))"
        }
        try await migrate(device)
        #expect(await device.storage.losses == [])
        #expect(try await device.shown() == ["relayed", "m2", "m3"])
        #expect(try await device.retention.message("m2".asReference)?.body == RetentionFixture.body("m2"))
        #expect(try await device.retention.attachment(file) == Data([1]))
        #expect(
            try device.connect().rows("SELECT id, until FROM known ORDER BY id") {
                "\($0.blob(0)) \($0.integer(1))"
            } == known)
        #expect(try device.tombstoneCount() == 2)
        for id in ["m1", "last", "m2"] { #expect(try await device.admit(id, .keep) == .replay, "\(id)") }
        #expect(try await device.admit("relayed", .keep, relayTime: relayTime) == .replay)
        // A number that a message had seals no other one.
        try await device.admit("new", .oneDay)
        #expect(try device.connect().rows("SELECT seq FROM message ORDER BY seq") { $0.integer(0) } == [1, 3, 4, 6])
        try await device.admit("quoting", .keep, quotes: "m3")
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().purgedCount == 4)
        #expect(try await device.shown() == ["m2"])
        device.clocks.pass(.seconds(6 * 86_400))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(device.attachmentFiles == [])
        #expect(try device.count("attachment") == 0)
        let day = (Milliseconds(relayTime) + Milliseconds(MessageRetentionPolicy.longest)) / .day + 2
        #expect(await device.storage.pruning.next == day * .day)
    }

    @Test func `a message by the device's clock ends as it would have`() async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneWeek)
        device.clocks.set(by: .seconds(-86_400))
        try await device.admit("m1")
        try await migrate(device)
        device.clocks.restart(after: .seconds(10 * 86_400))
        try await device.relaunch()
        #expect(try await device.shown() == [])
        device.clocks.pass(.seconds(86_399))
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.pass(.seconds(1))
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `has the tables, indexes and triggers of a new database, and its deadlines never rise`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneDay)
        func schema() throws -> [String] {
            try device.connect().rows("SELECT type, name, tbl_name FROM sqlite_schema ORDER BY name") {
                [$0.text(0), $0.text(1), $0.text(2)].joined(separator: " ")
            }
        }
        let new = try schema()
        #expect(new.contains("table known known") && !new.contains("table tombstone tombstone"))
        try await migrate(device)
        #expect(try schema() == new)
        let database = try device.connect()
        #expect(throws: SQLiteError.self) { try database.run("UPDATE message SET deadline = deadline + 1") }
        #expect(try database.rows("PRAGMA foreign_key_check") { $0.text(0) } == [])
        #expect(try database.rows("PRAGMA integrity_check") { $0.text(0) } == ["ok"])
        #expect(try database.rows("PRAGMA foreign_key_list(attachment)") { $0.text(2) } == ["message"])
    }
}
