import CloakroomAWS
import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

/// Files that are sent in parts, and written to between the look at their bytes and their upload.
@Suite struct RewrittenFileTests {
    private let folder: TemporaryFolder
    private let fake = FakeRuntime()
    private let layout: PhotoLayout

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    /// Parts of 10 bytes, above 20.
    private func client(_ s3: FakeS3) -> S3BackupClient {
        S3BackupClient(
            transport: s3, endpoint: URL(string: "http://127.0.0.1:1"), journal: InMemoryMultipartJournal(),
            sizes: .init(budget: 64, singlePut: 20, part: 10, partsAtOnce: 2, firstRange: 16), runtime: fake.runtime
        ) {
            .init(
                bucket: FakeS3.bucket, region: "eu-west-1",
                source: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))))
        }
    }

    private func key(_ text: String) -> String { "photos/u_1/\(MD5.hash(Data(text.utf8)).hexadecimal).dat" }

    @Test(arguments: [false, true])
    func `the former bytes' name never gets the new bytes`(isKnown: Bool) async throws {
        let (former, new) = ("as it was, of 26 bytes ....", "rewritten with as many ....")
        let file = try folder.write("film.mov", former)
        let index = try PhotoIndex(at: folder.url.appendingPathComponent(".index"), owner: .test) {
            Date().addingTimeInterval(3600)
        }
        if isKnown {
            let digest = try #require(PhotoDigest(bytes: MD5.hash(Data(former.utf8))))
            try await index.keep(digest, of: FileStamp(path: file.path), isStored: false)
        }
        let formerKey = key(former)
        let s3 = FakeS3 { method, key, _ in
            // In place, as an editor of ratings or an orientation does.
            if method == "HEAD", key == formerKey {
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: Data(new.utf8))
                try handle.close()
            }
            return nil
        }
        let backup = PhotoBackup(client: client(s3), layout: layout, index: index)
        let report = await backup.backUp([file])
        #expect(await s3.lines.contains("HEAD \(formerKey)"))
        #expect(await s3.objects.keys.sorted() == [key(new)])
        #expect(await s3.objects[key(new)]?.bytes == Data(new.utf8))
        #expect(report.isComplete && report.backedUp == 1)
    }

    @Test func `an open file is not the one that was looked at, once that was written to or replaced`() throws {
        let file = try folder.write("film.mov", "as it was")
        let stamp = try FileStamp(path: file.path)
        try UploadFile(file).check(stamp)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("rewritten".utf8))
        try handle.close()
        #expect(throws: CloakroomError.self) { try UploadFile(file).check(stamp) }
        let another = try FileStamp(path: file.path)
        let replacement = try folder.write("another.mov", "rewritten")
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: replacement, to: file)
        #expect(throws: CloakroomError.self) { try UploadFile(file).check(another) }
    }

    @Test func `an outbox sends no copy in parts that was damaged and looks the same`() async throws {
        let bench = try OutboxFixture()
        let outbox = try bench.outbox()
        let text = "a photo in parts, longer than 40 bytes in all"
        let id = try await outbox.add(photo: try bench.photo(text))
        let copy = bench.copy(of: id)
        var status = stat()
        #expect(stat(copy.path, &status) == 0)
        let handle = try FileHandle(forWritingTo: copy)
        try handle.write(contentsOf: Data("A".utf8))
        try handle.close()
        let times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, copy.path, times, 0) == 0)
        #expect(await outbox.run().failed == 1)
        #expect(try await outbox.failedItems().map(\.state.code) == [.unreadableFile])
        #expect(await bench.s3.objects.isEmpty)
    }
}
