import CloakroomCrypto
import Foundation
import Synchronization
import Testing

@testable import CloakroomKit

/// What a run costs that has little to do beside much that S3 has.
@Suite struct FewNewPhotosTests {
    private let folder: TemporaryFolder
    private let layout: PhotoLayout
    private let clock = Clock()
    private let s3 = FakeS3(pageSize: 1000)
    private let fake = FakeRuntime()

    private static let week = Duration.seconds(7 * 86_400)

    /// An hour ahead, so that files that were just written do not count as being written.
    private final class Clock: Sendable {
        private let date = Mutex(Date().addingTimeInterval(3600))
        var now: Date { date.withLock { $0 } }
        func pass(_ seconds: TimeInterval) { date.withLock { $0 += seconds } }
    }

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    private struct Index {
        let index: PhotoIndex
        let stored: [URL]
    }

    /// An index that has seen so many photos in S3, of which `files` are in the folder.
    private func index(seen count: Int, files: Int = 0) async throws -> Index {
        let index = try PhotoIndex(
            at: folder.url.appendingPathComponent(".index"), owner: .test, wallClock: { [clock] in clock.now })
        let stored = try (0..<files).map { try folder.write("old/\($0).jpg", "old \($0)") }
        for number in 0..<count {
            let bytes = Array("old \(number)".utf8)
            let digest = try #require(PhotoDigest(bytes: MD5.hash(bytes)))
            await s3.put("\(layout.photos)\(digest.hexadecimal).dat", Data(bytes))
            let stamp = number < files ? try FileStamp(path: stored[number].path) : Self.stamp(number)
            try await index.keep(digest, of: stamp, isStored: true)
        }
        try await index.flush()
        return Index(index: index, stored: stored)
    }

    /// Of a file that is on another volume.
    private static func stamp(_ number: Int) -> FileStamp {
        var status = stat()
        status.st_ino = ino_t(number + 1)
        return FileStamp(status)
    }

    private func backup(
        _ index: PhotoIndex?, recheckInterval: Duration = .zero, sidecars: (any PhotoSidecarProvider)? = nil
    ) -> PhotoBackup {
        var options = PhotoBackup.Options()
        options.recheckInterval = recheckInterval
        return PhotoBackup(
            client: .over(s3, fake), layout: layout, index: index, sidecars: sidecars, options: options)
    }

    private struct NoSidecars: PhotoSidecarProvider {}

    @Test func `five new photos beside 50,000 stored ones cost no listing`() async throws {
        let index = try await index(seen: 50_000).index
        let files = try (0..<5).map { try folder.write("\($0).jpg", "new \($0)") }
        await s3.put("\(layout.photos)\(MD5.hash(Array("new 3".utf8)).hexadecimal).dat", Data("new 3".utf8))
        let report = await backup(index).backUp(files)
        #expect(report.isComplete)
        #expect((report.backedUp, report.alreadyThere) == (4, 1))
        #expect(await s3.listingBytes <= 65_536)
        #expect(await s3.objects.count == 50_005)
    }

    @Test func `a folder of stored photos costs no listing, for as long as the app says`() async throws {
        let index = try await index(seen: 2000, files: 300).index
        for number in 0..<5 { try folder.write("\(number).jpg", "new \(number)") }
        let report = await backup(index, recheckInterval: Self.week).backUp(folder: folder.url)
        #expect(report.isComplete)
        #expect((report.backedUp, report.alreadyThere) == (5, 300))
        #expect(await s3.listingBytes == 0)
        #expect(await s3.lines.count { $0.hasPrefix("HEAD") } == 5)
        // After that time all are looked for.
        clock.pass(7 * 86_400)
        #expect(await backup(index, recheckInterval: Self.week).backUp(folder: folder.url).alreadyThere == 305)
        #expect(await s3.listingBytes > 0)
    }

    @Test(arguments: [(Duration.zero, false, 0.0), (week, true, 0), (week, false, -7200)])
    func `without that, with sidecars, and after the clock was set back, each run looks for all`(
        recheckInterval: Duration, hasSidecars: Bool, pause: TimeInterval
    ) async throws {
        let index = try await index(seen: 300, files: 300).index
        clock.pass(pause)
        let gone = "\(layout.photos)\(MD5.hash(Array("old 7".utf8)).hexadecimal).dat"
        await s3.delete(gone)
        let backup = backup(
            index, recheckInterval: recheckInterval, sidecars: hasSidecars ? NoSidecars() : nil)
        let report = await backup.backUp(folder: folder.url)
        #expect((report.backedUp, report.alreadyThere) == (1, 299))
        #expect(await s3.objects[gone] != nil)
        #expect(await s3.listingBytes > 0)
    }

    @Test func `a changed file is looked for at once`() async throws {
        let known = try await index(seen: 300, files: 300)
        try folder.write("old/7.jpg", "another photo")
        let report = await backup(known.index, recheckInterval: Self.week).backUp(folder: folder.url)
        #expect((report.backedUp, report.alreadyThere) == (1, 299))
        #expect(await s3.listingBytes == 0)
    }
}
