import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Messages of an app from before the library.
@Suite struct MigrationTests {
    @Test func `moves messages with the end that they had or that the policies say, and erases the file`() async throws
    {
        let (device, older) = try await Self.device()
        let now = device.now
        try older.write(
            "c1",
            [
                older.message("by policy", sentAt: now - 1_800_000),
                older.message("by its end", sentAt: now - 1_800_000, until: now + 60_000, isOwn: true),
                older.message("later", sentAt: now - 1000, until: now + 90 * .day),
                older.message("over by policy", sentAt: now - 3_600_000),
                older.message("over by its end", sentAt: now - 1000, until: now - 500),
                older.message("of a clock ahead", sentAt: now + 5000),
            ])
        let preview = try await device.retention.preview(of: Self.files(older))
        #expect(preview.messageCount == 4 && preview.endedCount == 2)
        let report = await device.retention.migrate(preview)
        #expect(report == Self.report(imported: 4, ended: 2, erased: 1))
        let messages = try await device.retention.messages(in: RetentionFixture.conversation)
        let ends = Dictionary(uniqueKeysWithValues: messages.map { ($0.id.rawValue, $0.expiration) })
        #expect(
            ends == [
                "by policy": (now + 1_800_000).date, "by its end": (now + 60_000).date, "later": (now + 3_599_000).date,
                "of a clock ahead": (now + 3_600_000).date,
            ])
        #expect(messages.first { $0.id.rawValue == "by its end" }?.author == RetentionFixture.own)
        #expect(messages.first { $0.id.rawValue == "by policy" }?.author == RetentionFixture.peer)
        #expect(messages.first { $0.id.rawValue == "by policy" }?.body == Data(OlderApp.text("by policy").utf8))
        #expect(messages.allSatisfy { $0.isStored })
        #expect(try older.names == [])
        #expect(try device.files(with: Data("must not be found".utf8)) == [])
    }

    @Test func `a shorter policy of this user counts for older messages, and none prolongs them`() async throws {
        let (device, older) = try await Self.device(.oneHour)
        try older.write("c1", [older.message("m1", sentAt: device.now - 1000)])
        try await device.migrate(older, policy: .oneDay)
        #expect(try await device.end(of: "m1") == (device.now + 3_599_000).date)

        let (longer, files) = try await Self.device(.keep)
        try files.write("c1", [files.message("m1", sentAt: longer.now - 1000)])
        try await longer.migrate(files, policy: .oneDay)
        #expect(try await longer.end(of: "m1") == (longer.now + .day - 1000).date)
    }

    @Test func `counts first, and changes nothing by that`() async throws {
        let (device, older) = try await Self.device()
        let now = device.now
        try older.write("c1", [older.message("m1", sentAt: now), older.message("m2", sentAt: now - .day)])
        try older.write("other", [older.message("m3", sentAt: device.now)])
        let before = try Data(contentsOf: older.file("c1"))
        let preview = try await device.retention.preview(of: Self.files(older))
        #expect(preview.files.map(\.name) == ["c1.json"])
        #expect(preview.files.map(\.conversation) == [RetentionFixture.conversation])
        #expect(preview.left == [LegacyFileLeft(name: "other.json", reason: .unknownSession)])
        #expect(try device.count("message") == 0)
        #expect(try device.tombstoneCount() == 0)
        #expect(try Data(contentsOf: older.file("c1")) == before)
        // A folder that is not there is empty.
        let nothing = LegacyMessageFiles(in: older.folder.appendingPathComponent("none")) { _ in nil }
        #expect(try await device.retention.preview(of: nothing).files == [])
        let counted = try await device.retention.preview(of: nothing)
        #expect(await device.retention.migrate(counted) == Self.report())
    }

    @Test func `leaves files that it does not understand, names and counts them, and moves the others`() async throws {
        let (device, older) = try await Self.device()
        let now = device.now
        let fine = older.message("m1", sentAt: now)
        for (name, content) in [
            ("cut-off", String("[\(fine)]".dropLast(3))), ("empty", ""), ("zeros", "\0\0\0\0"), ("number", "7"),
            ("twice", "[\(fine),\(fine)]"), ("no-id", #"[{"text":"a","timestamp":1,"isFromSelf":true}]"#),
            ("behind", "[\(fine)] []"), ("no-comma", "[\(fine) \(older.message("m2", sentAt: now))]"),
            ("comma", "[\(fine),]"), ("brackets", "[{]}"), ("two-arrays", #"{"messages":[],"messages":[]}"#),
            ("no-array", #"{"a":[]}"#), ("half", #"{"messages":[\#(fine)]"#),
            ("dates-of-1970", "[\(#"{"id":"a","text":"a","timestamp":\#(now / 1000),"isFromSelf":true}"#)]"),
            ("picture", "[\(older.message("m1", sentAt: now, more: #","image":"a.jpg""#))]"),
        ] { try older.write(name, content) }
        try Data("no JSON".utf8).write(to: older.folder.appendingPathComponent("notes.txt"))
        try FileManager.default.createDirectory(
            at: older.folder.appendingPathComponent("folder.json"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            at: older.folder.appendingPathComponent("link.json"), withDestinationURL: older.file("twice"))
        try older.write("c1", [older.message("m9", sentAt: now)])
        let before = try older.names
        let preview = try await device.retention.preview(of: Self.files(older, all: true))
        let report = await device.retention.migrate(preview)
        #expect(report.importedCount == 1 && report.erasedFileCount == 1 && report.stoppedBy == nil)
        #expect(try older.names == before.filter { $0 != "c1.json" })
        #expect(try report.left.map(\.name) == older.names)
        let reasons = Dictionary(uniqueKeysWithValues: report.left.map { ($0.name, $0.reason) })
        #expect(reasons["twice.json"] == .damaged(why: "message 1 has the id of another one of its author"))
        #expect(reasons["picture.json"] == .damaged(why: "message 0 has a member image, which would be lost"))
        for name in ["notes.txt", "folder.json", "link.json"] { #expect(reasons[name] == .otherFile) }
        for name in [
            "cut-off", "empty", "zeros", "number", "no-id", "dates-of-1970", "behind", "no-comma", "comma", "brackets",
            "two-arrays", "no-array", "half",
        ] {
            guard case .damaged = reasons["\(name).json"] else {
                Issue.record("\(name): \(String(describing: reasons["\(name).json"]))")
                continue
            }
        }
    }

    @Test func `a file stays while nothing would be stored of it`() async throws {
        let (device, older) = try await Self.device(nil)
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        let left = [LegacyFileLeft(name: "c1.json", reason: .nothingStored)]
        #expect(try await device.migrate(older).left == left)
        try await device.want(.oneDay)
        #expect(try await device.migrate(older, policy: .noStorage).left == left)
        // Chosen between the two calls.
        let preview = try await device.retention.preview(of: Self.files(older))
        try await device.want(.noStorage)
        #expect(await device.retention.migrate(preview).left == left)
        #expect(try older.names == ["c1.json"])
        #expect(try device.count("message") == 0)
        #expect(try device.tombstoneCount() == 0)
    }

    @Test func `a file that was written to since it was counted stays`() async throws {
        let (device, older) = try await Self.device()
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        let preview = try await device.retention.preview(of: Self.files(older))
        try older.write("c1", [older.message("m1", sentAt: device.now), older.message("m2", sentAt: device.now)])
        let left = [LegacyFileLeft(name: "c1.json", reason: .changed)]
        #expect(await device.retention.migrate(preview).left == left)
        #expect(try await device.shown() == [])
        // Also while its messages are being stored.
        var files = Self.files(older)
        files.step = { try older.write("c1", "[]") }
        let other = try await device.retention.preview(of: files)
        #expect(await device.retention.migrate(other).left == left)
        #expect(try older.names == ["c1.json"])
    }

    @Test func `a text that only looks like a control message is moved as all others`() async throws {
        let (device, older) = try await Self.device()
        let text = #"{ the \"retention\" period is a week }"#
        try older.write("c1", [older.message("m1", sentAt: device.now, text: text)])
        let report = try await device.migrate(older)
        #expect(report.controlCount == 0 && report.importedCount == 1)
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `what was purged does not come back by a file, and a control message is no text`() async throws {
        let (device, older) = try await Self.device()
        let control = #"{\"type\":\"retention_policy_sync\",\"policy\":\"oneHour\",\"timestamp\":812345678.25}"#
        let content = [
            older.message("m1", sentAt: device.now), older.message("m2", sentAt: device.now, text: control),
        ]
        try older.write("c1", content)
        #expect(try await device.migrate(older).controlCount == 1)
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        // As from a backup; by a longer policy it would not be over.
        try older.write("c1", content)
        try await device.want(.oneDay)
        #expect(try await device.migrate(older, policy: .oneDay) == Self.report(ended: 1, control: 1, erased: 1))
        #expect(try await device.shown() == [])
    }

    @Test func `the app makes the body where a message is more than text`() async throws {
        let (device, older) = try await Self.device()
        let message = older.message("m1", sentAt: device.now, more: #","image":"a.jpg""#)
        try older.write("c1", "[\(message)]")
        var format = LegacyMessageFormat()
        format.body = { message in Data("app: ".utf8) + message }
        let files = LegacyMessageFiles(in: older.folder, format: format) { _ in Self.session(.oneHour) }
        let preview = try await device.retention.preview(of: files)
        #expect(await device.retention.migrate(preview).importedCount == 1)
        let body = try #require(try await device.retention.messages(in: RetentionFixture.conversation).first?.body)
        #expect(String(decoding: body, as: UTF8.self).hasPrefix(#"app: {"id":"m1","#))
        #expect(body.range(of: Data(#""image":"a.jpg""#.utf8)) != nil)
    }

    @Test func `a long time between the first and the last message of a file prolongs none`() async throws {
        let (device, older) = try await Self.device()
        let now = device.now
        try older.write("c1", (0..<300).map { older.message("m\($0)", sentAt: now - 60_000) })
        let clocks = device.clocks
        var files = Self.files(older)
        files.step = { clocks.pass(.seconds(30)) }
        let preview = try await device.retention.preview(of: files)
        #expect(await device.retention.migrate(preview).importedCount == 300)
        let messages = try await device.retention.messages(in: RetentionFixture.conversation, limit: 1000)
        let ends = Set(messages.compactMap { $0.expiration.map { Milliseconds($0) } })
        // The step passes between the age and the receipt, once for each part.
        #expect(messages.count == 300 && ends == [now - 60_000 + 3_600_000 + 30_000])
    }

    // MARK: Parts

    static func device(
        _ policy: MessageRetentionPolicy? = .oneHour, server: Bool = true
    ) async throws -> (RetentionFixture, OlderApp) {
        let device = try await RetentionFixture(server: server)
        if let policy { try await device.want(policy) }
        return (device, try OlderApp(in: device.folder))
    }

    static func session(_ policy: MessageRetentionPolicy) -> LegacySession {
        LegacySession(conversation: RetentionFixture.conversation, peer: RetentionFixture.peer, policy: policy)
    }

    static func files(
        _ older: OlderApp, _ policy: MessageRetentionPolicy = .oneHour, all: Bool = false
    ) -> LegacyMessageFiles {
        LegacyMessageFiles(in: older.folder) { all || $0 == "c1" ? session(policy) : nil }
    }

    static func report(
        imported: Int = 0, known: Int = 0, ended: Int = 0, control: Int = 0, erased: Int = 0
    ) -> MessageMigrationReport {
        var report = MessageMigrationReport()
        (report.importedCount, report.knownCount, report.endedCount) = (imported, known, ended)
        (report.controlCount, report.erasedFileCount) = (control, erased)
        return report
    }
}

extension RetentionFixture {
    var now: Milliseconds { clocks.reading.wall }

    @discardableResult
    func migrate(
        _ older: OlderApp, policy: MessageRetentionPolicy = .oneHour
    ) async throws -> MessageMigrationReport {
        await retention.migrate(try await retention.preview(of: MigrationTests.files(older, policy)))
    }

    func end(of id: String) async throws -> Date? {
        try await retention.messages(in: Self.conversation).first { $0.id.rawValue == id }?.expiration
    }
}
