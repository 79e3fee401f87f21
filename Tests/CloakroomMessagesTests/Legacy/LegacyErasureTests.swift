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
        let isCondemned = try folder.condemn("c1.json", withHash: [1]) { _ in [1] }
        #expect(isCondemned)
        var steps: [Data] = []
        // As who has it open sees it.
        let descriptor = try FileHandle(
            forReadingFrom: older.folder.appendingPathComponent("c1.json.cloakroom-erased"))
        try folder.erase("c1.json") {
            try descriptor.seek(toOffset: 0)
            steps.append(try descriptor.readToEnd() ?? Data())
        }
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
        files.step = { if try older.names != ["c1.json"] { throw Stop() } }
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
}

private enum ErasurePlace {
    static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "older-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }
}
