import CloakroomCrypto
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PhotoRestoreTests {
    private let folder: TemporaryFolder
    private let server = TestServer()
    private let layout: PhotoLayout

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    private func name(_ content: String) -> String { MD5.hash(Array(content.utf8)).hexadecimal }

    private func files() throws -> [String: String] {
        var files: [String: String] = [:]
        for path in try FolderWalk(includesHiddenFiles: true).files(in: folder.url.path).files.map(\.path) {
            files[URL(fileURLWithPath: path).lastPathComponent] = try String(contentsOfFile: path, encoding: .utf8)
        }
        return files
    }

    @Test func `what was backed up comes back, under its format`() async throws {
        let source = try TemporaryFolder()
        for (name, content) in [("a.jpg", "one"), ("b.heic", "two"), ("c", "three"), ("d.jpg", "four"), ("e", "five")] {
            try source.write(name, content)
        }
        let client = S3BackupClient.of(server)
        #expect(await PhotoBackup(client: client, layout: layout).backUp(folder: source.url).isComplete)
        let report = await PhotoRestore(client: client, layout: layout).restore(to: folder.url)
        #expect(report == RestoreReport(restored: 5, bytesDownloaded: 19))
        #expect(
            try files() == [
                "\(name("one")).jpg": "one", "\(name("two")).heic": "two", "\(name("three")).dat": "three",
                "\(name("four")).jpg": "four", "\(name("five")).dat": "five",
            ])
        let again = await PhotoRestore(client: client, layout: layout).restore(to: folder.url)
        #expect(again == RestoreReport(alreadyThere: 5))
    }

    @Test(arguments: ["dat", "jpg"])
    func `a photo that was changed since it was restored stays, and the photo comes back beside it`(
        format: String
    ) async throws {
        let source = try TemporaryFolder()
        try source.write("a.\(format)", "one")
        let client = S3BackupClient.of(server)
        #expect(await PhotoBackup(client: client, layout: layout).backUp(folder: source.url).isComplete)
        let changed = "\(name("one")).\(format)"
        try folder.write(changed, "one, with a frame")
        let restore = PhotoRestore(client: client, layout: layout)
        #expect(await restore.restore(to: folder.url) == RestoreReport(restored: 1, bytesDownloaded: 3))
        let beside = "\(name("one")).2.\(format)"
        #expect(try files() == [changed: "one, with a frame", beside: "one"])
        #expect(await restore.restore(to: folder.url) == RestoreReport(alreadyThere: 1))
        try folder.write(beside, "and another one")
        #expect(await restore.restore(to: folder.url) == RestoreReport(restored: 1, bytesDownloaded: 3))
        #expect(
            try files() == [
                changed: "one, with a frame", beside: "and another one", "\(name("one")).3.\(format)": "one",
            ])
    }

    @Test func `a photo that an earlier run fetched and did not name is named, and not fetched again`() async throws {
        let key = "photos/u_1/\(name("one")).dat"
        server.store(Data("one".utf8), at: key, fields: ["x-amz-meta-original-format": "jpg"])
        try folder.write(".cloakroom-\(name("one")).dat", "one")
        let restore = PhotoRestore(client: .of(server), layout: layout)
        #expect(await restore.restore(to: folder.url) == RestoreReport(restored: 1))
        #expect(try files() == ["\(name("one")).jpg": "one"])
        #expect(server.requests().filter { $0.key == key }.map(\.operation) == [.headObject])
        // And one that it named without removing the other name.
        try folder.write(".cloakroom-\(name("one")).dat", "one")
        #expect(await restore.restore(to: folder.url) == RestoreReport(alreadyThere: 1))
        #expect(try files() == ["\(name("one")).jpg": "one"])
    }

    @Test func `other bytes under the hidden name of a photo are replaced`() async throws {
        server.store(Data("one".utf8), at: "photos/u_1/\(name("one")).dat")
        try folder.write(".cloakroom-\(name("one")).dat", "eno")
        let report = await PhotoRestore(client: .of(server), layout: layout).restore(to: folder.url)
        #expect(report == RestoreReport(restored: 1, bytesDownloaded: 3))
        #expect(try files() == ["\(name("one")).dat": "one"])
    }

    @Test func `bytes that are not what the key says are not kept`() async throws {
        server.store(Data("two".utf8), at: "photos/u_1/\(name("one")).dat")
        server.store(Data("three".utf8), at: "photos/u_1/\(name("three")).dat")
        let report = await PhotoRestore(client: .of(server), layout: layout).restore(to: folder.url)
        #expect(report.restored == 1)
        #expect(report.failures.map(\.key) == ["photos/u_1/\(name("one")).dat"])
        #expect(report.failures.first?.error.code == .checksumMismatch)
        #expect(try files() == ["\(name("three")).dat": "three"])
    }

    @Test(arguments: ["../x", "x/y", "/x", ".", "JPG", "", "j pg", "j\u{0}", String(repeating: "j", count: 17), "é"])
    func `a format that can be no file's extension is not used`(format: String) async throws {
        let key = "photos/u_1/\(name("one")).dat"
        server.store(Data("one".utf8), at: key, fields: ["x-amz-meta-original-format": format])
        // Where a path out of the folder would lead.
        try folder.write("inside/\(name("one"))./x", "x")
        let inside = folder.url.appendingPathComponent("inside")
        let report = await PhotoRestore(client: .of(server), layout: layout).restore(to: inside)
        #expect(report == RestoreReport(restored: 1, bytesDownloaded: 3))
        #expect(try files() == ["\(name("one")).dat": "one", "x": "x"])
    }

    @Test func `a file of a photo's name and size with other bytes is not taken for it`() async throws {
        server.store(Data("one".utf8), at: "photos/u_1/\(name("one")).dat")
        try folder.write("\(name("one")).dat", "eno")
        let report = await PhotoRestore(client: .of(server), layout: layout).restore(to: folder.url)
        #expect(report == RestoreReport(restored: 1, bytesDownloaded: 3))
        #expect(try files() == ["\(name("one")).dat": "eno", "\(name("one")).2.dat": "one"])
    }
}
