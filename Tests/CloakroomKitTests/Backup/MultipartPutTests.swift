import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

struct MultipartPutTests {
    private let bench: BackupBench

    init() throws { bench = try BackupBench() }
    private let bytes = numbered(25)

    @Test func `sends a large file in parts`() async throws {
        let file = try bench.file("f", bytes)
        let info = try await bench.client().put(file: file, to: "k", contentType: "image/png", metadata: ["a": "b"])
        let stored = try #require(await bench.s3.objects["k"])
        #expect(stored.bytes == bytes && stored.fields["x-amz-meta-cloakroom-part-size"] == "10")
        #expect(
            info
                == ObjectInfo(
                    key: "k", byteCount: 25, entityTag: stored.entityTag, lastModified: info.lastModified,
                    contentType: "image/png", metadata: ["a": "b"]))
        #expect(
            await bench.lines.sorted() == [
                "HEAD /k", "POST /k?uploadId=u1", "POST /k?uploads", "PUT /k?partNumber=1&uploadId=u1",
                "PUT /k?partNumber=2&uploadId=u1", "PUT /k?partNumber=3&uploadId=u1",
            ])
        #expect(await bench.journal.uploads().isEmpty)
        let begun = try #require(await bench.http.sent.first { $0.line.hasSuffix("?uploads") })
        #expect(begun.request.fields.filter { $0.name == "content-type" }.map(\.value) == ["image/png"])
    }

    @Test func `continues where it stopped, and sends again what is not the same`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        #expect(await bench.code { try await bench.client().put(file: file, to: "k") } == .accessDenied)
        #expect(await bench.journal.uploads().map(\.uploadID) == ["u1"])
        await bench.s3.spoilPart(2, of: "u1")
        let before = await bench.lines.count
        // As after a restart: only the journal is left.
        try await bench.client().put(file: file, to: "k")
        #expect(
            await bench.lines.dropFirst(before).sorted() == [
                "GET /k?max-parts=1000&part-number-marker=0&uploadId=u1", "HEAD /k", "POST /k?uploadId=u1",
                "PUT /k?partNumber=2&uploadId=u1", "PUT /k?partNumber=3&uploadId=u1",
            ])
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
    }

    @Test func `begins anew when the file is another one, or the upload is gone`() async throws {
        let client = bench.client()
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"), times: 2)
        let old = try bench.file("f", numbered(26))
        #expect(await bench.code { try await client.put(file: old, to: "k") } == .accessDenied)
        let file = try bench.file("f", bytes)
        #expect(await bench.code { try await client.put(file: file, to: "k") } == .accessDenied)
        #expect(await bench.s3.uploads.keys.sorted() == ["u2"])
        await bench.s3.forgetUploads()
        try await client.put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
        #expect(await bench.journal.uploads().isEmpty)
    }

    /// Whether the key is the MD5 of the bytes.
    @Test(arguments: [true, false])
    func `a file that was made anew continues where its key says that it is the same`(isNamed: Bool) async throws {
        let md5 = MD5.hash(bytes)
        let key = isNamed ? "photos/u_1/\(md5.hexadecimal).dat" : "k"
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        let code = await bench.code {
            try await bench.client().put(file: try bench.file("f", bytes, modified: 1), to: key, md5: md5)
        }
        #expect(code == .accessDenied)
        let before = await bench.lines.count
        try await bench.client().put(file: try bench.file("g", bytes, modified: 2), to: key, md5: md5)
        let lines = await bench.lines.dropFirst(before)
        #expect(lines.count { $0.contains("partNumber=") } == (isNamed ? 1 : 3))
        #expect(lines.count { $0.hasPrefix("DELETE") } == (isNamed ? 0 : 1))
        #expect(await bench.s3.objects[key]?.bytes == bytes)
    }

    @Test func `two clients that store the same photo at once do not abort one another's upload`() async throws {
        let md5 = MD5.hash(bytes)
        let key = "photos/u_1/\(md5.hexadecimal).dat"
        let gate = Gate()
        await bench.s3.inject("partNumber=3", .held(gate, MemoryS3.error(404, "NoSuchUpload")))
        let files = [try bench.file("f", bytes, modified: 1), try bench.file("g", bytes, modified: 2)]
        let (first, second) = (bench.client(), bench.client())
        let slower = Task { try await first.put(file: files[0], to: key, condition: .isNew, md5: md5) }
        await gate.arrival()
        try await second.put(file: files[1], to: key, condition: .isNew, md5: md5)
        await gate.open()
        #expect(try await slower.value.byteCount == 25)
        let lines = await bench.lines
        #expect(lines.count { $0.hasSuffix("?uploads") } == 1 && !lines.contains { $0.hasPrefix("DELETE") })
        #expect(await bench.s3.objects[key]?.bytes == bytes)
        #expect(await bench.journal.uploads().isEmpty)
    }

    @Test func `finds what a run completed that ended before it could note that`() async throws {
        let file = try bench.file("f", bytes)
        let client = bench.client()
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        _ = await bench.code { try await client.put(file: file, to: "k") }
        let noted = await bench.journal.uploads()
        try await client.put(file: file, to: "k")
        try await bench.journal.save(#require(noted.first))
        let before = await bench.lines.count
        let progress = Log<TransferProgress>()
        try await client.put(file: file, to: "k", condition: .isNew) { progress.append($0) }
        #expect(await bench.lines.dropFirst(before).map { $0.prefix(4) } == ["GET ", "HEAD"])
        #expect(progress.all == [TransferProgress(bytesDone: 25, bytesTotal: 25)])
        #expect(await bench.journal.uploads().isEmpty)
    }

    @Test func `stores nothing of a file that changes meanwhile`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.onPart { try? Data(repeating: 7, count: 25).write(to: file) }
        #expect(await bench.code { try await bench.client().put(file: file, to: "k") } == .unreadableFile)
        #expect(await bench.s3.objects.isEmpty)
        #expect(await bench.s3.uploads.isEmpty)
        #expect(await bench.journal.uploads().isEmpty)
    }

    @Test func `finds an upload complete although the response was lost`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.inject("POST http://127.0.0.1:1/photos/k?uploadId", .failure(.interrupted), afterwards: true)
        try await bench.client().put(file: file, to: "k", condition: .isNew)
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
    }

    @Test(arguments: [("00000000000000000000000000000000-3", 25), ("-2", 25), ("-3", 24)])
    func `takes no other object for the one that it has made`(tag: String, size: Int) async throws {
        let file = try bench.file("f", bytes)
        let sums = [0..<10, 10..<20, 20..<25].flatMap { MD5.hash(Array(bytes[$0])) }
        let whole = tag.hasPrefix("-") ? MD5.hash(sums).hexadecimal + tag : tag
        await bench.s3.inject(
            "HEAD", .response(200, [("ETag", "\"\(whole)\""), ("Content-Length", "\(size)")]), times: 1)
        #expect(await bench.code { try await bench.client().put(file: file, to: "k") } == .checksumMismatch)
    }

    @Test func `takes no success whose body is an error, and continues from there`() async throws {
        let file = try bench.file("f", bytes)
        let client = bench.client()
        let error = ScriptedHTTP.Step.response(200, [], Data("\n\n<Error><Code>InternalError</Code></Error>".utf8))
        await bench.s3.inject("?uploadId", error, times: 5)
        #expect(await bench.code { try await client.put(file: file, to: "k") } == .unavailable)
        #expect(await bench.s3.objects.isEmpty)
        let before = await bench.lines.count
        try await client.put(file: file, to: "k")
        #expect(await bench.lines.dropFirst(before).count { $0.contains("partNumber=") } == 0)
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
    }

    @Test func `leaves what is there already alone`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.store("k", Data("other".utf8))
        #expect(
            await bench.code { try await bench.client().put(file: file, to: "k", condition: .isNew) }
                == .conditionFailed)
        #expect(await bench.lines == ["HEAD /k"])
        #expect(await bench.s3.objects["k"]?.bytes == Data("other".utf8))
    }

    @Test func `survives a bad network`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.inject("partNumber", .failure(.interrupted), times: 2)
        await bench.s3.inject("partNumber", MemoryS3.error(503, "SlowDown"))
        await bench.s3.inject("partNumber", .failure(.timedOut), afterwards: true)
        try await bench.client().put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
        #expect(bench.fake.sleeps.count == 4)
    }

    @Test func `works with tags that are no MD5`() async throws {
        await bench.s3.encrypt("aws:kms")
        let file = try bench.file("f", bytes)
        #expect(try await bench.client().put(file: file, to: "k").entityTag == "\"kms-1\"")
    }

    @Test func `aborts the uploads that were begun`() async throws {
        let file = try bench.file("f", bytes)
        let client = bench.client()
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        _ = await bench.code { try await client.put(file: file, to: "k") }
        try await client.abandonUploads()
        #expect(await bench.s3.uploads.isEmpty)
        #expect(await bench.journal.uploads().isEmpty)
    }

    @Test func `ends when its task does, and continues afterwards`() async throws {
        let file = try bench.file("f", bytes)
        await bench.s3.inject("partNumber=2", .hang)
        let client = bench.client()
        let task = Task { try await client.put(file: file, to: "k") }
        await bench.http.arrival(of: 3)
        task.cancel()
        #expect(await bench.code { try await task.value } == .cancelled)
        try await client.put(file: file, to: "k")
        #expect(await bench.s3.objects["k"]?.bytes == bytes)
        #expect(await bench.s3.uploads.isEmpty)
    }

    @Test func `reads no folder and no file that is not there`() async throws {
        let client = bench.client()
        for url in [bench.folder, bench.folder.appendingPathComponent("none")] {
            #expect(await bench.code { try await client.put(file: url, to: "k") } == .unreadableFile)
        }
    }
}
