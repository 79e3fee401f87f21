import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

/// A store that says what no store should: the app lives on.
struct HostileStoreTests {
    private let bench: BackupBench

    init() throws { bench = try BackupBench() }

    private func listing(sizes: [Int], next: String? = nil) throws -> ScriptedHTTP.Step {
        let contents = sizes.enumerated().map { number, size in
            "<Contents><Key>photos/u_1/\(MD5.hash([UInt8(number)]).hexadecimal).dat</Key><Size>\(size)</Size></Contents>"
        }
        let more =
            next.map { "<IsTruncated>true</IsTruncated><NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
        return .response(200, [], Data("<ListBucketResult>\(more)\(contents.joined())</ListBucketResult>".utf8))
    }

    @Test(arguments: [1, 5, Int.max]) func `parts of any size are checked`(size: Int) async throws {
        let bytes = Data("hello".utf8)
        let sums = size == 1 ? bytes.flatMap { MD5.hash([$0]) } : MD5.hash(bytes)
        let fields = ["x-amz-meta-cloakroom-part-size": String(size)]
        await bench.s3.store(
            "k", bytes, tag: "\"\(MD5.hash(sums).hexadecimal)-\(size == 1 ? 5 : 1)\"", fields: fields)
        #expect(try await bench.client().get("k") == bytes)
        await bench.s3.spoil("k")
        #expect(await bench.code { try await bench.client().get("k") } == .checksumMismatch)
    }

    @Test func `the largest sizes that objects have end no restore`() async throws {
        await bench.s3.inject("list-type=2", try listing(sizes: [10_000 * (5 << 30), 5 << 40, 1]))
        let restore = PhotoRestore(client: bench.client(), layout: try PhotoLayout(userID: "u_1"))
        let report = await restore.restore(to: bench.folder)
        #expect(report.failures.map(\.error.code) == [.noSuchObject, .noSuchObject, .noSuchObject])
    }

    @Test(arguments: [10_000 * (5 << 30) + 1, Int.max])
    func `a size that no object has keeps neither its photo nor another from being restored`(size: Int) async throws {
        let photos = [Data([0]), Data([1]), Data([2])]
        for photo in photos { await bench.s3.store("photos/u_1/\(MD5.hash(photo).hexadecimal).dat", photo) }
        await bench.s3.inject("list-type=2", try listing(sizes: [size, size, 1]), times: 2)
        let restore = PhotoRestore(client: bench.client(), layout: try PhotoLayout(userID: "u_1"))
        let report = await restore.restore(to: bench.folder)
        #expect(report.stoppedBy == nil && report.restored == 3)
        // What is there is known by its bytes, whatever its size in the listing.
        #expect(await restore.restore(to: bench.folder).alreadyThere == 3)
        await bench.s3.inject("list-type=2", try listing(sizes: [size]))
        for try await object in bench.client().list(prefix: "photos/u_1/") { #expect(object.byteCount == -1) }
    }

    @Test func `a listing that leads in circles ends`() async throws {
        await bench.s3.inject("list-type=2", try listing(sizes: [1], next: "again"), times: 9)
        var count = 0
        let code = await bench.code {
            for try await _ in bench.client().list(prefix: "photos/u_1/") { count += 1 }
        }
        #expect(code == .invalidResponse)
        #expect(count == 1)
        #expect(await bench.lines.count == 2)
    }

    @Test func `a listing that gives the same page with another token each time ends`() async throws {
        for number in 0..<9 {
            await bench.s3.inject("list-type=2", try listing(sizes: [1, 2], next: "t\(number)"))
        }
        var count = 0
        let code = await bench.code {
            for try await _ in bench.client().list(prefix: "photos/u_1/") { count += 1 }
        }
        #expect(code == .invalidResponse && count == 2)
    }

    @Test(arguments: [nil, "-5", "9223372036854775808", "many"])
    func `an object of no length is not one that is not there`(length: String?) async throws {
        let fields = length.map { [(name: "Content-Length", value: $0)] } ?? []
        await bench.s3.inject("HEAD", .response(200, [("ETag", "\"a\"")] + fields))
        #expect(await bench.code { try await bench.client().head("k") } == .invalidResponse)
    }

    @Test func `an object longer than any is not kept`() async throws {
        let file = bench.folder.appendingPathComponent("photo.dat")
        await bench.s3.store("k", numbered(50))
        let tag = "\"\(MD5.hash(numbered(50)).hexadecimal)\""
        await bench.s3.inject(
            "GET",
            .response(
                206, [("ETag", tag), ("Content-Range", "bytes 0-15/9223372036854775807")], Data(numbered(50)[..<16])),
            times: 9)
        #expect(await bench.code { try await bench.client().download("k", to: file) } == .invalidResponse)
        #expect(try bench.fileNames.isEmpty)
    }

    @Test(arguments: [0, -1, Int.min, Int.max]) func `a journal with parts of no use is not followed`(
        partSize: Int
    ) async throws {
        let file = try bench.file("f", numbered(25))
        await bench.journal.save(
            MultipartUpload(
                bucket: "photos", key: "k", uploadID: "gone", partSize: partSize, file: try UploadFile(file).version))
        try await bench.client().put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == numbered(25))
        #expect(await bench.journal.uploads().isEmpty)
    }

    @Test func `a journal that is full ends no upload`() async throws {
        struct FullJournal: MultipartJournal {
            private var full: CloakroomError { CloakroomError(.diskFull, "no space is left") }
            func upload(of key: String, in bucket: String) async throws -> MultipartUpload? { throw full }
            func save(_ upload: MultipartUpload) async throws { throw full }
            func remove(_ upload: MultipartUpload) async throws { throw full }
            func uploads() async throws -> [MultipartUpload] { throw full }
        }
        let file = try bench.file("f", numbered(25))
        try await bench.client(journal: FullJournal()).put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == numbered(25))
    }

    @Test func `a file of another age is read like any other`() async throws {
        let file = try bench.file("f", numbered(25))
        // In nanoseconds it is further off than a number of 64 bits tells.
        let date = Date(timeIntervalSince1970: 12_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        try await bench.client().put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == numbered(25))
    }

    @Test func `nothing is written through a link where a download would lie`() async throws {
        let file = bench.folder.appendingPathComponent("photo.dat")
        let victim = try bench.file("victim", Data("mine".utf8))
        await bench.s3.store("k", numbered(50))
        let partial = PartialFile(of: file).url
        try FileManager.default.createSymbolicLink(at: partial, withDestinationURL: victim)
        let tag = partial.deletingPathExtension().appendingPathExtension("tag")
        try Data("\"\(MD5.hash(numbered(50)).hexadecimal)\"".utf8).write(to: tag)
        try await bench.client().download("k", to: file)
        #expect(try Data(contentsOf: file) == numbered(50))
        #expect(try Data(contentsOf: victim) == Data("mine".utf8))
        #expect(try bench.fileNames == ["photo.dat", "victim"])
    }
}
