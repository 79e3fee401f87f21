import Foundation
import Testing

@testable import CloakroomServer

struct SharedFolderTests {
    private let owner = UserID("u_1")!
    private let end = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(arguments: ["photos/u_1/", "photos/u_1/my album (2)/", "a.b/c/u_1/x=1,2;3/"])
    func `is read as it was written`(prefix: String) throws {
        let folder = try #require(SharedFolder(owner: owner, prefix: prefix, end: end))
        #expect(SharedFolder(line: folder.line[...]) == folder)
    }

    @Test(arguments: [
        "photos/u_1", "", "/", "photos//u_1/", "photos/u_1/../u_2/", "photos/u_1/./", "photos/u_1/*/", "photos/u_1/?/",
        "photos/u_1/${aws:userid}/", "photos/u_1/\"/", "photos/u_1/\\/", "photos/u_1/\n/", "photos/u_1/é/",
        "photos/u_1/\u{7F}/", "photos/u_1/" + String(repeating: "x", count: 502) + "/",
    ])
    func `has no prefix that could mean something else`(prefix: String) throws {
        #expect(SharedFolder.fault(of: prefix) != nil)
        #expect(SharedFolder(owner: owner, prefix: prefix, end: end) == nil)
    }

    @Test(arguments: [
        "", "x", "1800000000", "1800000000 u_1", "1800000000 u/1 photos/u_1/", "-1 u_1 photos/u_1/",
        "1800000000000 u_1 photos/u_1/", "1.5 u_1 photos/u_1/", "1800000000 u_1 photos/u_1",
    ])
    func `is no line that no command writes`(line: String) { #expect(SharedFolder(line: line[...]) == nil) }

    @Test func `leaves lines that cannot be read out, and counts them`() {
        let shares = UserRecord.Shares("1800000000 u_1 photos/u_1/a/\n?\n\n1800000000 u_2 photos/u_2/")
        #expect(shares.folders.map(\.prefix) == ["photos/u_1/a/", "photos/u_2/"])
        #expect(shares.read().unreadable == 1 && !shares.isEmpty)
        #expect(UserRecord.Shares(shares.folders).folders == shares.folders)
        #expect(UserRecord.Shares("").isEmpty)
    }

    @Test(arguments: [
        ("photos/u_1/a/", "photos/"), ("photos/u_1/", "photos/"), ("photos/u_10/a/", nil), ("photos/U_1/a/", nil),
        ("other/u_1/a/", nil), ("photos/x/u_1/", nil), ("u_1/photos/", nil), ("raw/photos/u_1/", "raw/photos/"),
    ])
    func `lies in a folder of its owner or in none`(prefix: String, expected: String?) throws {
        let folder = try #require(SharedFolder(owner: owner, prefix: prefix, end: end))
        #expect(folder.folder(among: ["photos/", "raw/photos/"]) == expected)
    }
}
