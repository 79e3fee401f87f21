@testable import CloakroomMessages
import Foundation
import Testing

/// How files of an older app go.
@Suite struct LegacyErasureTests {
    struct Stop: Error {}

    @Test func `zeros are written over a file before it goes`() throws {
        let older = try OlderApp(in: ErasurePlace.make())
        defer { try? FileManager.default.removeItem(at: older.folder.deletingLastPathComponent()) }
        try older.write("c1", String(repeating: "secret", count: 30_000))
        guard let folder = try LegacyFolder.existing(at: older.folder) else {
            Issue.record("there is no folder")
            return
        }
        let condemned = try folder.condemn("c1.json", withHash: [1], { _ in [1] }, step: {})
        #expect(condemned == "c1.json")
        var steps: [Data] = []
        // As who has it open sees it.
        let descriptor = try FileHandle(
            forReadingFrom: older.folder.appendingPathComponent("c1.json.cloakroom-erased"))
        let isErased = try folder.erase("c1.json") {
            try descriptor.seek(toOffset: 0)
            steps.append(try descriptor.readToEnd() ?? Data())
        }
        #expect(isErased)
        #expect(steps == [Data(count: 180_000), Data()])
        #expect(try older.names == [])
    }

    @Test func `a file that was not erased to its end is erased by the next migration`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let older = try OlderApp(in: device.folder)
        try older.write("c1", [older.message("m1", sentAt: device.clocks.reading.wall)])
        var files = LegacyMessageFiles(in: older.folder) { _ in
            LegacySession(conversation: RetentionFixture.conversation, peer: RetentionFixture.peer, policy: .keep)
        }
        files.step = { if try older.names == ["c1.json.cloakroom-erased"] { throw Stop() } }
        let stopped = await device.retention.migrate(try await device.retention.preview(of: files))
        #expect(stopped.importedCount == 1 && stopped.erasedFileCount == 0 && stopped.stoppedBy != nil)
        #expect(try older.names == ["c1.json.cloakroom-erased"])
        files.step = {}
        let preview = try await device.retention.preview(of: files)
        #expect(preview.unfinished == ["c1.json"] && preview.files == [] && preview.left == [])
        let report = await device.retention.migrate(preview)
        #expect(report.erasedFileCount == 1 && report.knownCount == 0 && report.stoppedBy == nil)
        #expect(try older.names == [])
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `a file with a second name is not overwritten`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let older = try OlderApp(in: device.folder)
        try older.write("c1", [older.message("m1", sentAt: device.clocks.reading.wall)])
        let copy = device.folder.appendingPathComponent("copy")
        try FileManager.default.linkItem(at: older.file("c1"), to: copy)
        let files = LegacyMessageFiles(in: older.folder) { _ in
            LegacySession(conversation: RetentionFixture.conversation, peer: RetentionFixture.peer, policy: .keep)
        }
        let preview = try await device.retention.preview(of: files)
        #expect(preview.left == [LegacyFileLeft(name: "c1.json", reason: .otherFile)])
    }

    // MARK: Files that change, and names that are taken

    @Test func `a file that replaces the one that was compared is not erased`() throws {
        let older = try OlderApp(in: ErasurePlace.make())
        defer { try? FileManager.default.removeItem(at: older.folder.deletingLastPathComponent()) }
        try older.write("c1", "counted")
        guard let folder = try LegacyFolder.existing(at: older.folder) else {
            Issue.record("there is no folder")
            return
        }
        var names: [String] = []
        let condemned = try folder.condemn("c1.json", withHash: Array("counted".utf8)) { bytes in
            names += (try? older.names) ?? []
            // After the first comparison, as the older app saves.
            if names == ["c1.json"] { try? Data("another".utf8).write(to: older.file("c1"), options: .atomic) }
            return bytes
        } step: {
        }
        #expect(condemned == nil)
        #expect(names == ["c1.json", "c1.json.cloakroom-compared"])
        #expect(try older.names == ["c1.json"])
        #expect(try Data(contentsOf: older.file("c1")) == Data("another".utf8))
    }

    @Test func `what was being compared when a process was killed is counted, and not erased`() async throws {
        let (device, older) = try await MigrationTests.device()
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        var files = MigrationTests.files(older)
        let other = older.message("m2", sentAt: device.now)
        files.step = {
            guard try older.names == ["c1.json.cloakroom-compared"] else { return }
            // It was another file in the end.
            let file = older.folder.appendingPathComponent("c1.json.cloakroom-compared")
            try Data("[\(other)]".utf8).write(to: file)
            throw Stop()
        }
        #expect(await device.retention.migrate(try await device.retention.preview(of: files)).stoppedBy != nil)
        #expect(try older.names == ["c1.json.cloakroom-compared"])
        // The older app has saved since.
        try older.write("c1", [older.message("m3", sentAt: device.now)])
        files.step = {}
        let preview = try await device.retention.preview(of: files)
        #expect(preview.files.map(\.name) == ["c1.json", "c1.json.cloakroom-compared"])
        #expect(preview.unfinished == [] && preview.messageCount == 2)
        let blocked = await device.retention.migrate(preview)
        #expect(blocked.left.map(\.reason) == [.nameTaken("c1.json.cloakroom-compared")])
        #expect(try await device.migrate(older).erasedFileCount == 1)
        #expect(try await device.shown() == ["m1", "m3", "m2"])
        #expect(try older.names == [])
    }

    @Test func `a file that was getting its name back when a process was killed is counted again`() async throws {
        let (device, older) = try await MigrationTests.device()
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        try FileManager.default.linkItem(
            at: older.file("c1"), to: older.folder.appendingPathComponent("c1.json.cloakroom-compared"))
        #expect(try await device.migrate(older).left.map(\.reason) == [.otherFile, .otherFile])
        #expect(try older.names == ["c1.json"])
        #expect(try await device.migrate(older) == MigrationTests.report(imported: 1, erased: 1))
    }

    @Test(arguments: ["folder", "link", "second name", "pipe"])
    func `what only has the name of an unfinished file stays, and is named`(kind: String) async throws {
        let (device, older) = try await MigrationTests.device()
        let target = device.folder.appendingPathComponent("not ours")
        try Data("not ours".utf8).write(to: target)
        let name = "c1.json.cloakroom-erased"
        let place = older.folder.appendingPathComponent(name)
        switch kind {
        case "folder": try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        case "link": try FileManager.default.createSymbolicLink(at: place, withDestinationURL: target)
        case "second name": try FileManager.default.linkItem(at: target, to: place)
        default: #expect(mkfifo(place.path, 0o600) == 0)
        }
        try older.write("c1", [older.message("m1", sentAt: device.now)])
        try older.write("c2", [older.message("m2", sentAt: device.now)])
        let preview = try await device.retention.preview(of: MigrationTests.files(older, all: true))
        #expect(preview.unfinished == [] && preview.left == [LegacyFileLeft(name: name, reason: .otherFile)])
        let report = await device.retention.migrate(preview)
        #expect(report.stoppedBy == nil && report.importedCount == 2 && report.erasedFileCount == 1)
        #expect(report.left.last == LegacyFileLeft(name: "c1.json", reason: .nameTaken(name)))
        #expect(try older.names == ["c1.json", name])
        #expect(try Data(contentsOf: target) == Data("not ours".utf8))
        // Also when it came between the two calls.
        try FileManager.default.removeItem(at: place)
        let known = try await device.migrate(older)
        #expect(known == MigrationTests.report(known: 1, erased: 1))
    }

    @Test func `what takes the place of an unfinished file after the preview stays`() async throws {
        let (device, older) = try await MigrationTests.device()
        let place = older.folder.appendingPathComponent("c1.json.cloakroom-erased")
        try Data("unfinished".utf8).write(to: place)
        let preview = try await device.retention.preview(of: MigrationTests.files(older))
        #expect(preview.unfinished == ["c1.json"])
        try FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        try older.write("c1", "[]")
        let report = await device.retention.migrate(preview)
        #expect(report.left == [LegacyFileLeft(name: place.lastPathComponent, reason: .otherFile)])
        #expect(report.stoppedBy == nil && report.erasedFileCount == 0)
    }
}

private enum ErasurePlace {
    static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "older-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }
}
