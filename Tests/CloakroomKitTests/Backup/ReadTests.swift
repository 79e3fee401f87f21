import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

struct ReadTests {
    private let bench: BackupBench

    init() throws { bench = try BackupBench() }

    @Test func `reads what was stored`() async throws {
        let client = bench.client()
        try await client.put(Data("hello".utf8), to: "photos/u 1/é.dat", metadata: ["a": "b"])
        #expect(try await client.get("photos/u 1/é.dat") == Data("hello".utf8))
        let info = try #require(try await client.head("photos/u 1/é.dat"))
        #expect(info.byteCount == 5 && info.metadata == ["a": "b"])
        #expect(info.lastModified == Date(timeIntervalSince1970: 1_795_183_200))
        try await client.delete("photos/u 1/é.dat")
        try await client.delete("photos/u 1/é.dat")
        #expect(await bench.s3.objects.isEmpty)
    }

    @Test func `takes no other bytes than those that were stored`() async throws {
        let client = bench.client()
        let tag = "\"\(MD5.hash(Array("hello".utf8)).hexadecimal)\""
        await bench.s3.store("k", Data("hallo".utf8), tag: tag)
        #expect(await bench.code { try await client.get("k") } == .checksumMismatch)
        // Where the tag tells nothing, the caller's MD5 does.
        await bench.s3.encrypt("aws:kms")
        #expect(try await client.get("k") == Data("hallo".utf8))
        let md5 = MD5.hash(Array("hello".utf8))
        #expect(await bench.code { try await client.get("k", md5: md5) } == .checksumMismatch)
    }

    @Test func `says that there is nothing only when S3 does`() async throws {
        let client = bench.client()
        #expect(try await client.head("k") == nil)
        #expect(try await client.exists("k") == false)
        #expect(await bench.code { try await client.get("k") } == .noSuchObject)
        let file = bench.folder.appendingPathComponent("f")
        #expect(await bench.code { try await client.download("k", to: file) } == .noSuchObject)
        #expect(try bench.fileNames.isEmpty)
    }

    @Test(
        arguments: [
            (ScriptedHTTP.Step.response(404), CloakroomError.Code.invalidRequest),
            (MemoryS3.error(404, "NoSuchBucket"), .unavailable), (.response(403), .accessDenied),
            (MemoryS3.error(403, "AccessDenied"), .accessDenied), (.response(503), .unavailable),
            (.response(429), .tooManyRequests), (.response(301), .unknown),
            (.response(200, [], Data("<html>Welcome</html>".utf8)), .invalidResponse),
            (.failure(.unreachable), .unreachable),
            (.failure(.timedOut), .timedOut), (.failure(.untrusted), .untrusted), (.failure(.cancelled), .cancelled),
        ])
    func `leaves open what nobody knows`(response: ScriptedHTTP.Step, code: CloakroomError.Code) async throws {
        let client = bench.client()
        await bench.s3.inject("k", response, times: 40)
        #expect(await bench.code { try await client.head("k") } == code)
        #expect(await bench.code { try await client.get("k") } == code)
        let file = bench.folder.appendingPathComponent("f")
        #expect(await bench.code { try await client.download("k", to: file) } == code)
        #expect(try bench.fileNames.isEmpty)
    }

    @Test func `takes any success for one when it looks for an object`() async throws {
        let client = bench.client()
        await bench.s3.store("k", Data())
        await bench.s3.store("l", Data("l".utf8))
        #expect(try await client.exists("k"))
        #expect(try await client.exists("l"))
    }

    @Test func `reads no more than it was told to`() async throws {
        await bench.s3.store("k", numbered(17))
        let client = bench.client()
        #expect(await bench.code { try await client.get("k", maximumBytes: 16) } == .bodyTooLarge)
        #expect(try await client.get("k", maximumBytes: 17) == numbered(17))
        #expect(await bench.lines == ["GET /k", "GET /k"])
    }

    @Test func `lists page after page`() async throws {
        let keys = ["photos/u_1/a", "photos/u_1/b", "photos/u_1/c", "photos/u_1/d", "photos/u_1/e"]
        for key in keys + ["photos/u_10/a"] { await bench.s3.store(key, Data(key.utf8)) }
        var listed: [ObjectInfo] = []
        for try await object in bench.client().list(prefix: "photos/u_1/") { listed.append(object) }
        #expect(listed.map(\.key) == keys)
        #expect(
            listed.first
                == ObjectInfo(
                    key: "photos/u_1/a", byteCount: 12,
                    entityTag: "\"\(MD5.hash(Array("photos/u_1/a".utf8)).hexadecimal)\"",
                    lastModified: Date(timeIntervalSince1970: 1_795_183_200)))
        #expect(await bench.lines.count == 3)
    }

    @Test func `ends a listing with the error, and lists nothing where nothing is`() async throws {
        let client = bench.client()
        for try await object in client.list(prefix: "none/") { Issue.record("\(object)") }
        for key in ["a", "b", "c"] { await bench.s3.store(key, Data()) }
        await bench.s3.inject("continuation-token", MemoryS3.error(403, "AccessDenied"))
        var keys: [String] = []
        let code = await bench.code { for try await object in client.list(prefix: "") { keys.append(object.key) } }
        #expect(code == .accessDenied && keys == ["a", "b"])
    }
}
