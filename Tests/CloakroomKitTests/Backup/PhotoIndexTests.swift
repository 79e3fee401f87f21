import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PhotoIndexTests {
    private let folder: TemporaryFolder
    private let digest: PhotoDigest
    /// Of the clock: what is written while a test runs is an hour old for it.
    private let later = Date().addingTimeInterval(3600)

    init() throws {
        folder = try TemporaryFolder()
        digest = try #require(PhotoDigest(hexadecimal: "0123456789abcdef0123456789abcdef"))
    }

    private func index(at time: Date? = nil) throws -> PhotoIndex {
        let time = time ?? later
        return try PhotoIndex(at: folder.url.appendingPathComponent("index"), owner: .test, wallClock: { time })
    }

    @Test func `a digest is known again after the index was closed`() async throws {
        let stamp = try FileStamp(path: folder.write("a.jpg", "a").path)
        let first = try index()
        try await first.keep(digest, of: stamp, isStored: true)
        #expect(await first.digest(of: stamp) == digest)
        try await first.flush()
        #expect(await (try index()).digest(of: stamp) == digest)
    }

    @Test func `another content under the same name and inode is not known`() async throws {
        let file = try folder.write("a.jpg", "a")
        let index = try index()
        try await index.keep(digest, of: FileStamp(path: file.path), isStored: true)
        for isFlushed in [false, true] {
            if isFlushed { try await index.flush() }
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: Data("bb".utf8))
            try handle.close()
            #expect(await index.digest(of: try FileStamp(path: file.path)) == nil)
            #expect(await index.lastBackup(of: file) == nil)
        }
    }

    @Test func `a file that was just written is not kept: another change might not show`() async throws {
        let stamp = try FileStamp(path: folder.write("a.jpg", "a").path)
        let index = try index(at: Date())
        try await index.keep(digest, of: stamp, isStored: true)
        #expect(await index.digest(of: stamp) == nil)
    }

    @Test(arguments: [1e12, 1e300, -1e300]) func `a clock may show any time`(seconds: Double) throws {
        let stamp = try FileStamp(path: folder.write("a.jpg", "a").path)
        #expect(stamp.isSettled(at: Date(timeIntervalSince1970: seconds)) == (seconds > 0))
    }

    @Test func `when a file was last seen in S3 is told only of what S3 had`() async throws {
        let (stored, read) = (try folder.write("a.jpg", "a"), try folder.write("b.jpg", "b"))
        let index = try index()
        try await index.keep(digest, of: FileStamp(path: stored.path), isStored: true)
        try await index.keep(digest, of: FileStamp(path: read.path), isStored: false)
        #expect(await index.lastBackup(of: stored).map { Int($0.timeIntervalSince(later)) } == 0)
        #expect(await index.lastBackup(of: read) == nil)
        #expect(await index.lastBackup(of: folder.url.appendingPathComponent("c.jpg")) == nil)
    }

    @Test func `what nobody has seen for half a year is forgotten`() async throws {
        let stamp = try FileStamp(path: folder.write("a.jpg", "a").path)
        let first = try index()
        try await first.keep(digest, of: stamp, isStored: true)
        try await first.flush()
        let days = { (days: Double) in later.addingTimeInterval(days * 86_400) }
        #expect(await (try index(at: days(179))).digest(of: stamp) == digest)
        #expect(await (try index(at: days(181))).digest(of: stamp) == nil)
    }

    @Test func `a damaged index begins anew`() async throws {
        let stamp = try FileStamp(path: folder.write("a.jpg", "a").path)
        try folder.write("index", "this is no database, but it is long enough to be read as the head of one: \(digest)")
        let index = try index()
        #expect(await index.digest(of: stamp) == nil)
        try await index.keep(digest, of: stamp, isStored: true)
        try await index.flush()
        #expect(await index.digest(of: stamp) == digest)
    }
}
