import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

struct PutTests {
    private let bench: BackupBench

    init() throws { bench = try BackupBench() }

    @Test func `stores bytes with all that was said of them, signed through their MD5`() async throws {
        let info = try await bench.client().put(
            Data("hello".utf8), to: "photos/u_1/a b.dat", contentType: "image/heic",
            metadata: ["Original-Format": "heic"], condition: .isNew)
        #expect(
            info
                == ObjectInfo(
                    key: "photos/u_1/a b.dat", byteCount: 5, entityTag: "\"5d41402abc4b2a76b9719d911017c592\"",
                    contentType: "image/heic", metadata: ["original-format": "heic"]))
        #expect(await bench.lines == ["PUT /photos/u_1/a%20b.dat"])
        let sent = try #require(await bench.http.sent.first)
        #expect(sent.text == "hello")
        #expect(sent["content-md5"] == "XUFAKrxLKna5cZ2REBfFkg==" && sent["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(sent["if-none-match"] == "*" && sent["x-amz-security-token"] == "token" && sent["host"] == nil)
        let signed =
            "SignedHeaders=content-md5;content-type;host;if-none-match;x-amz-content-sha256;x-amz-date;"
            + "x-amz-meta-original-format;x-amz-security-token,"
        #expect(sent["authorization"]?.contains(signed) == true)
        #expect(await bench.s3.objects["photos/u_1/a b.dat"]?.fields["x-amz-meta-original-format"] == "heic")
    }

    @Test func `stores an empty file, and a small one in one piece`() async throws {
        let client = bench.client()
        for count in [0, 20] {
            let file = try bench.file("f\(count)", numbered(count))
            #expect(try await client.put(file: file, to: "k\(count)").byteCount == Int64(count))
            #expect(await bench.s3.objects["k\(count)"]?.bytes == numbered(count))
        }
        #expect(await bench.lines == ["PUT /k0", "PUT /k20"])
    }

    @Test func `refuses what is there already, unless an own attempt put it there`() async throws {
        await bench.s3.store("k", Data("other".utf8))
        let client = bench.client()
        #expect(
            await bench.code { try await client.put(Data("x".utf8), to: "k", condition: .isNew) } == .conditionFailed)
        #expect(await bench.s3.objects["k"]?.bytes == Data("other".utf8))
        await bench.s3.inject("PUT", .failure(.interrupted), afterwards: true)
        #expect(try await client.put(Data("x".utf8), to: "new", condition: .isNew).byteCount == 1)
        #expect(await bench.lines == ["PUT /k", "PUT /new", "PUT /new", "HEAD /new"])
    }

    @Test func `replaces the object that was expected, and no other`() async throws {
        await bench.s3.store("k", Data("old".utf8))
        let client = bench.client()
        let wrong = ObjectCondition.isStill(entityTag: "\"0\"")
        #expect(
            await bench.code { try await client.put(Data("x".utf8), to: "k", condition: wrong) } == .conditionFailed)
        let tag = try #require(await bench.s3.objects["k"]?.entityTag)
        try await client.put(Data("x".utf8), to: "k", condition: .isStill(entityTag: tag))
        #expect(await bench.s3.objects["k"]?.bytes == Data("x".utf8))
    }

    @Test func `sends again what was damaged on the way, and does not accept another tag`() async throws {
        let client = bench.client()
        await bench.s3.inject("PUT", MemoryS3.error(400, "BadDigest"))
        try await client.put(Data("x".utf8), to: "k")
        #expect(await bench.lines.count == 2)
        let other = ScriptedHTTP.Step.response(200, [("ETag", "\"00000000000000000000000000000000\"")])
        await bench.s3.inject("PUT", other, times: 5)
        #expect(await bench.code { try await client.put(Data("x".utf8), to: "k") } == .checksumMismatch)
        await bench.s3.encrypt("aws:kms")
        try await client.put(Data("x".utf8), to: "k")
    }

    @Test func `refuses an MD5 that is not the bytes'`() async throws {
        let wrong = MD5.hash(Array("y".utf8))
        #expect(
            await bench.code { try await bench.client().put(Data("x".utf8), to: "k", md5: wrong) } == .checksumMismatch)
        #expect(await bench.s3.objects.isEmpty)
    }

    @Test(arguments: [
        ("text/plain\r\nx-amz-acl: public-read", [:]), ("", [:]), ("text/plain", ["a b": "c"]),
        ("text/plain", ["a": "b\n"]), ("text/plain", ["a": "ü"]), ("text/plain", ["a": "1", "A": "2"]),
        ("text/plain", ["a": String(repeating: "b", count: 2000)]), ("text/plain", ["cloakroom-part-size": "1"]),
    ])
    func `refuses what no field can carry`(contentType: String, metadata: [String: String]) async throws {
        let code = await bench.code {
            try await bench.client().put(Data(), to: "k", contentType: contentType, metadata: metadata)
        }
        #expect(code == .invalidRequest)
        #expect(await bench.lines.isEmpty)
    }

    @Test(arguments: ["", String(repeating: "k", count: 1025)])
    func `refuses keys that S3 cannot have`(key: String) async {
        #expect(await bench.code { try await bench.client().put(Data(), to: key) } == .invalidRequest)
    }

    @Test func `reports its progress, and the total once`() async throws {
        let (values, told) = AsyncStream.makeStream(of: TransferProgress.self)
        let file = try bench.file("f", numbered(25))
        try await bench.client().put(file: file, to: "k") { told.yield($0) }
        told.finish()
        let seen = await values.reduce(into: []) { $0.append($1) }
        #expect(seen.last == TransferProgress(bytesDone: 25, bytesTotal: 25))
        #expect(seen.count { $0.bytesDone == 25 } == 1)
        #expect(seen.allSatisfy { $0.bytesTotal == 25 } && seen.contains { $0.bytesDone == 10 })
    }

    @Test func `can be watched as a sequence and as Foundation's progress`() async throws {
        let (values, observer) = TransferProgress.stream()
        let progress = Progress(totalUnitCount: 0)
        let client = bench.client()
        try await client.put(Data("hello".utf8), to: "k", progress: observer)
        try await client.put(Data("hello".utf8), to: "k", progress: TransferProgress.observer(updating: progress))
        var last: TransferProgress?
        for await value in values { last = value }
        #expect(last?.fraction == 1)
        #expect(progress.isFinished && progress.totalUnitCount == 5)
    }
}
