import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

/// Who may send a photo of which there are several files.
@Suite struct BackupRunTests {
    private let folder: TemporaryFolder
    private let digest: PhotoDigest

    init() throws {
        folder = try TemporaryFolder()
        digest = try #require(PhotoDigest(bytes: MD5.hash(Array("the same".utf8))))
    }

    /// A run of three equal files, of which the first one is under way.
    private func run() async throws -> (run: BackupRun, paths: [String]) {
        let files = try (0..<3).map { try folder.write("\($0).jpg", "the same") }
        let run = BackupRun(BackupFiles(files), maximumConsecutiveFailures: 8, observer: nil)
        var paths: [String] = []
        while let path = await run.next() { paths.append(path) }
        #expect(await run.claim(digest, byteCount: 8, path: paths[0]).isUpload)
        return (run, paths)
    }

    @Test func `equal files wait while the first one is under way, and are there after it`() async throws {
        let (run, paths) = try await run()
        for path in paths.dropFirst() { #expect(await run.claim(digest, byteCount: 8, path: path).isLater) }
        #expect(await run.next() == nil)
        await run.store(digest, byteCount: 8)
        for _ in 1...2 {
            let path = try #require(await run.next())
            #expect(await run.claim(digest, byteCount: 8, path: path).isThere)
        }
        #expect(await run.next() == nil)
    }

    @Test func `when the first one fails, another one has its turn`() async throws {
        let (run, paths) = try await run()
        for path in paths.dropFirst() { #expect(await run.claim(digest, byteCount: 8, path: path).isLater) }
        await run.giveUp(digest)
        let second = try #require(await run.next())
        #expect(await run.claim(digest, byteCount: 8, path: second).isUpload)
        let third = try #require(await run.next())
        #expect(await run.claim(digest, byteCount: 8, path: third).isLater)
        #expect(Set([second, third]) == Set(paths.dropFirst()))
    }
}

extension BackupRun.Claim {
    fileprivate var isUpload: Bool { if case .upload = self { true } else { false } }
    fileprivate var isThere: Bool { if case .alreadyThere = self { true } else { false } }
    fileprivate var isLater: Bool { if case .later = self { true } else { false } }
}
