import Foundation
import Testing

@testable import CloakroomKit

@Suite struct FolderWalkTests {
    @Test(arguments: [
        (false, ["a.jpg", "deep/b.jpg", "deep/er/c.jpg"]),
        (true, [".hidden.jpg", ".trash/d.jpg", "a.jpg", "deep/b.jpg", "deep/er/c.jpg"]),
    ])
    func `regular files are found, and hidden ones only when wanted`(hidden: Bool, expected: [String]) throws {
        let folder = try TemporaryFolder()
        for name in ["a.jpg", "deep/b.jpg", "deep/er/c.jpg", ".hidden.jpg", ".trash/d.jpg"] {
            try folder.write(name, name)
        }
        let found = try FolderWalk(includesHiddenFiles: hidden).files(in: folder.url.path)
        #expect(found.files.map { String($0.path.dropFirst(folder.url.path.count + 1)) }.sorted() == expected)
        #expect(found.unreadable == [:])
    }

    @Test func `symbolic links and what they lead to are left out`() throws {
        let folder = try TemporaryFolder()
        try folder.write("real/a.jpg", "a")
        for (name, target) in [("link.jpg", "real/a.jpg"), ("circle", "."), ("real/up", "../..")] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.url.appendingPathComponent(name).path, withDestinationPath: target)
        }
        let found = try FolderWalk().files(in: folder.url.path)
        #expect(found.files.map(\.path) == [folder.url.appendingPathComponent("real/a.jpg").path])
        #expect(found.unreadable == [:])
    }

    @Test func `a folder that is not there is an error`() throws {
        let folder = try TemporaryFolder()
        let missing = folder.url.appendingPathComponent("missing").path
        #expect(throws: CloakroomError(.unreadableFile, "\(missing): No such file or directory")) {
            try FolderWalk().files(in: missing)
        }
    }
}
