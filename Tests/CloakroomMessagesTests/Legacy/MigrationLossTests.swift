@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// A migration removes nothing that is not stored, or over for certain and counted as that.
@Suite struct MigrationLossTests {
    private typealias Migration = MigrationTests

    private static func left(_ reason: LegacyFileLeft.Reason, _ name: String = "c1") -> [LegacyFileLeft] {
        [LegacyFileLeft(name: "\(name).json", reason: reason)]
    }

    // MARK: Times

    @Test func `a file whose messages have an end waits for the server's time`() async throws {
        let (device, older) = try await Migration.device(server: false)
        let now = device.now
        // This device's clock is half an hour ahead.
        let server = now - 1_800_000
        let live = older.message("m1", sentAt: server - 3_000_000)
        try older.write("c1", [live])
        let preview = try await device.retention.preview(of: Migration.files(older))
        #expect(preview.files == [] && preview.left == Self.left(.timeUncertain))
        #expect(await device.retention.migrate(preview) == report(left: .timeUncertain))
        #expect(try device.count("message") == 0)
        #expect(try device.tombstoneCount() == 0)
        #expect(try older.names == ["c1.json"])
        try older.write("c1", [live, older.message("m2", sentAt: server - 7_200_000)])
        #expect(try await device.migrate(older) == report(left: .timeUncertain))
        device.clocks.hearServer(ahead: .seconds(-1800))
        #expect(try await device.migrate(older) == Migration.report(imported: 1, ended: 1, erased: 1))
        #expect(try await device.end(of: "m1") == (server + 600_000).date)
    }

    @Test func `messages without an end do not wait for the server's time`() async throws {
        let (device, older) = try await Migration.device(.keep, server: false)
        try older.write("c1", [older.message("m1", sentAt: device.now - 1000)])
        // A cut gives them one.
        let preview = try await device.retention.preview(of: Migration.files(older, .keep))
        #expect(preview.messageCount == 1)
        try await device.receive(device.said(.oneDay, version: 4, cutBefore: device.now))
        #expect(await device.retention.migrate(preview) == report(left: .timeUncertain))
        #expect(try older.names == ["c1.json"])

        let (other, files) = try await Migration.device(.keep, server: false)
        try files.write("c1", [files.message("m1", sentAt: other.now - 1000)])
        #expect(try await other.migrate(files, policy: .keep) == Migration.report(imported: 1, erased: 1))
        #expect(try await other.shown() == ["m1"])
        #expect(try await other.end(of: "m1") == nil)
    }

    @Test func `a device's clock that is behind makes no date one of another kind`() async throws {
        let (device, older) = try await Migration.device(.keep, server: false)
        let sentAt = device.now + 400 * Milliseconds.day
        try older.write("c1", [older.message("m1", sentAt: sentAt)])
        #expect(try await device.migrate(older, policy: .keep).left == Self.left(.timeUncertain))
        device.clocks.hearServer(ahead: .seconds(400 * 86_400))
        #expect(try await device.migrate(older, policy: .keep) == Migration.report(imported: 1, erased: 1))
    }

    @Test func `no end is brought forward to the longest policy`() async throws {
        let (device, older) = try await Migration.device(.keep)
        let later = device.now + 400 * Milliseconds.day
        try older.write("c1", [older.message("m1", sentAt: device.now, until: Milliseconds(Date.distantFuture))])
        try older.write("c2", [older.message("m2", sentAt: device.now, until: later)])
        let preview = try await device.retention.preview(of: Migration.files(older, .keep, all: true))
        #expect(preview.left == Self.left(.endTooLate, "c2"))
        #expect(await device.retention.migrate(preview).importedCount == 1)
        #expect(try older.names == ["c2.json"])
        #expect(try await device.end(of: "m1") == nil)
        // A policy that ends it sooner is what the user wants.
        let day = try await device.retention.preview(of: Migration.files(older, .oneDay, all: true))
        #expect(await device.retention.migrate(day) == Migration.report(imported: 1, erased: 1))
        #expect(try await device.end(of: "m2") == (device.now + .day).date)
    }

    // MARK: What is stored

    @Test func `a file stays while one of its messages is in memory only`() async throws {
        let (device, older) = try await Migration.device(nil)
        #expect(try await device.admit("m1") == .kept(until: device.clocks.later(.seconds(365 * 86_400))))
        try await device.want(.oneDay)
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        #expect(try await device.migrate(older) == report(left: .notStored))
        #expect(try older.names == ["c1.json"])
        // It was closed without being stored: the preview says that it goes.
        try await device.retention.close(RetentionFixture.conversation)
        let preview = try await device.retention.preview(of: Migration.files(older))
        #expect(preview.endedCount == 1 && preview.messageCount == 0)
        #expect(await device.retention.migrate(preview) == Migration.report(ended: 1, erased: 1))
    }

    @Test func `a file stays when a message of it is in no row in the end`() async throws {
        let (device, older) = try await Migration.device()
        try older.write("c1", [older.message("m1", sentAt: device.now), older.message("m2", sentAt: device.now)])
        var files = Migration.files(older)
        let database = device.folder.appendingPathComponent("messages.sqlite").path
        files.step = {
            try SQLiteDatabase(at: database).run(
                script: """
                    DELETE FROM known WHERE seq = (SELECT seq FROM message WHERE name = 'm2');
                    DELETE FROM message WHERE name = 'm2';
                    """)
        }
        let preview = try await device.retention.preview(of: files)
        let report = await device.retention.migrate(preview)
        #expect(report.left == Self.left(.notStored) && report.importedCount == 2 && report.erasedFileCount == 0)
        #expect(try older.names == ["c1.json"])
        #expect(try await device.migrate(older) == Migration.report(imported: 1, known: 1, erased: 1))
        #expect(try await device.shown() == ["m1", "m2"])
    }

    @Test func `what is stored already is counted as that`() async throws {
        let (device, older) = try await Migration.device()
        let messages = [older.message("m1", sentAt: device.now), older.message("m2", sentAt: device.now)]
        try older.write("c1", [messages[0]])
        try await device.migrate(older)
        try older.write("c1", messages)
        let preview = try await device.retention.preview(of: Migration.files(older))
        #expect(preview.messageCount == 1 && preview.files.map(\.knownCount) == [1])
        #expect(await device.retention.migrate(preview) == Migration.report(imported: 1, known: 1, erased: 1))
    }

    @Test func `a file stays when the app makes another body of a message each time`() async throws {
        let (device, older) = try await Migration.device()
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        var format = LegacyMessageFormat()
        format.body = { message in Data(UUID().uuidString.utf8) + message }
        let files = LegacyMessageFiles(in: older.folder, format: format) { _ in Migration.session(.oneHour) }
        let preview = try await device.retention.preview(of: files)
        #expect(await device.retention.migrate(preview) == report(imported: 1, left: .conflicting))
        #expect(try older.names == ["c1.json"])
    }

    // MARK: What the preview did not count

    @Test func `a cut that the preview knows is counted, and one that comes later keeps the file`() async throws {
        let (device, older) = try await Migration.device(.keep)
        let now = device.now
        try older.write("c1", [older.message("m1", sentAt: now - 7_200_000), older.message("m2", sentAt: now)])
        let early = try await device.retention.preview(of: Migration.files(older, .keep))
        #expect(early.messageCount == 2 && early.endedCount == 0)
        try await device.receive(device.said(.oneHour, version: 4, cutBefore: now - 1000))
        #expect(await device.retention.migrate(early) == report(imported: 1, left: .endedSincePreview))
        #expect(try older.names == ["c1.json"])
        let late = try await device.retention.preview(of: Migration.files(older, .keep))
        #expect(late.endedCount == 1 && late.messageCount == 0 && late.files.map(\.knownCount) == [1])
        #expect(await device.retention.migrate(late) == Migration.report(known: 1, ended: 1, erased: 1))

        let (other, files) = try await Migration.device(.keep)
        try files.write("c1", [files.message("m1", sentAt: now - 7_200_000)])
        try await other.receive(other.said(.oneHour, version: 4, cutBefore: now - 1000))
        let counted = try await other.retention.preview(of: Migration.files(files, .keep))
        #expect(counted.endedCount == 1 && counted.messageCount == 0)
        #expect(try other.tombstoneCount() == 0)
        #expect(await other.retention.migrate(counted) == Migration.report(ended: 1, erased: 1))
    }

    @Test func `a message that ends between the two calls keeps its file until it was counted`() async throws {
        let (device, older) = try await Migration.device()
        try older.write("c1", [older.message("m1", sentAt: device.now - 3_590_000)])
        let preview = try await device.retention.preview(of: Migration.files(older))
        device.clocks.pass(.seconds(20))
        #expect(await device.retention.migrate(preview) == report(left: .endedSincePreview))
        #expect(try await device.migrate(older) == Migration.report(ended: 1, erased: 1))
    }

    @Test(arguments: [#"{"draft":"x","messages":[]}"#, #"{"messages":[],"draft":{"a":1}}"#])
    func `a file with members beside its messages stays, unless they need not be kept`(json: String) async throws {
        let (device, older) = try await Migration.device()
        try older.write("c1", json)
        let why = "it has a member draft beside its messages, which would be lost"
        #expect(try await device.migrate(older) == report(left: .damaged(why: why)))
        #expect(try older.names == ["c1.json"])
        var format = LegacyMessageFormat()
        format.ignoredInFile = ["draft"]
        let files = LegacyMessageFiles(in: older.folder, format: format) { _ in Migration.session(.oneHour) }
        let preview = try await device.retention.preview(of: files)
        #expect(await device.retention.migrate(preview) == Migration.report(erased: 1))
        try older.write("c1", #"{"messages":[],"draft":null}"#)
        #expect(try await device.migrate(older) == Migration.report(erased: 1))
    }

    // MARK: Ids

    @Test func `two authors may have used the same id`() async throws {
        let (device, older) = try await Migration.device()
        let now = device.now
        try older.write(
            "c1", [older.message("m1", sentAt: now), older.message("m1", sentAt: now, isOwn: true, text: "own")])
        #expect(try await device.migrate(older) == Migration.report(imported: 2, erased: 1))
        let messages = try await device.retention.messages(in: RetentionFixture.conversation)
        let authors = Dictionary(uniqueKeysWithValues: messages.map { ($0.author, $0.body) })
        #expect(
            authors == [
                RetentionFixture.own: Data("own".utf8), RetentionFixture.peer: Data(OlderApp.text("m1").utf8),
            ])
    }

    @Test func `files of one conversation that do not agree on a message stay`() async throws {
        let (device, older) = try await Migration.device()
        let now = device.now
        try older.write("c1", [older.message("m1", sentAt: now), older.message("m2", sentAt: now)])
        try older.write("c2", [older.message("m1", sentAt: now, text: "another")])
        try older.write("c3", [older.message("m2", sentAt: now)])
        let preview = try await device.retention.preview(of: Migration.files(older, all: true))
        #expect(preview.left == Self.left(.conflicting) + Self.left(.conflicting, "c2"))
        let report = await device.retention.migrate(preview)
        #expect(report.importedCount == 1 && report.erasedFileCount == 1)
        #expect(try older.names == ["c1.json", "c2.json"])
        // Nor with what is stored.
        try FileManager.default.removeItem(at: older.file("c2"))
        #expect(try await device.migrate(older) == Migration.report(imported: 1, known: 1, erased: 1))
        try older.write("c1", [older.message("m1", sentAt: now, text: "another")])
        #expect(try await device.migrate(older) == self.report(left: .conflicting))
        #expect(try older.names == ["c1.json"])
        #expect(try await device.retention.message("m1".asReference)?.body == Data(OlderApp.text("m1").utf8))
    }

    private func report(imported: Int = 0, left: LegacyFileLeft.Reason) -> MessageMigrationReport {
        var report = Migration.report(imported: imported)
        report.left = Self.left(left)
        return report
    }
}
