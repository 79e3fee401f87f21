import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

struct DownloadTests {
    private let bench: BackupBench
    private let file: URL
    private let bytes = numbered(50)

    init() throws {
        bench = try BackupBench()
        file = bench.folder.appendingPathComponent("photo.dat")
    }

    @Test(arguments: [0, 1, 15, 16, 17, 50])
    func `reads an object into a file`(count: Int) async throws {
        await bench.s3.store("k", numbered(count))
        let info = try await bench.client().download("k", to: file)
        #expect(info.byteCount == Int64(count))
        #expect(try Data(contentsOf: file) == numbered(count))
        #expect(try bench.fileNames == ["photo.dat"])
        #expect(await bench.lines.count == (count == 0 || count > 16 ? 2 : 1))
    }

    @Test func `checks what was stored in parts`() async throws {
        let client = bench.client()
        try await client.put(file: try bench.file("source", bytes), to: "k")
        try await client.download("k", to: file)
        #expect(try Data(contentsOf: file) == bytes)
        await bench.s3.spoil("k")
        #expect(await bench.code { try await client.download("k", to: file) } == .checksumMismatch)
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try bench.fileNames == ["photo.dat", "source"])
    }

    @Test func `leaves nothing of what is not what was stored`() async throws {
        let client = bench.client()
        await bench.s3.store("k", bytes, tag: "\"\(MD5.hash(Array("other".utf8)).hexadecimal)\"")
        #expect(await bench.code { try await client.download("k", to: file) } == .checksumMismatch)
        await bench.s3.store("k", bytes)
        let md5 = MD5.hash(Array("other".utf8))
        #expect(await bench.code { try await client.download("k", to: file, md5: md5) } == .checksumMismatch)
        #expect(try bench.fileNames.isEmpty)
    }

    @Test(arguments: [404, 403, 500])
    func `leaves nothing of what could not be read`(status: Int) async throws {
        await bench.s3.inject("GET", MemoryS3.error(status, "Code"), times: 5)
        #expect(await bench.code { try await bench.client().download("k", to: file) } != nil)
        #expect(try bench.fileNames.isEmpty)
    }

    @Test func `makes the file while the request is under way`() async throws {
        let folder = bench.folder
        let isMade: @Sendable () -> Bool = {
            (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.isEmpty == false
        }
        await bench.s3.store("k", numbered(5))
        // A response that does not come before the file is there.
        let s3 = bench.s3
        let http = ScriptedHTTP { request, _ in
            let end = ContinuousClock.now + .seconds(8)
            while !isMade(), ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(1)) }
            return isMade() ? await s3.response(request) : .failure(.timedOut)
        }
        try await bench.client(http: http).download("k", to: file)
        #expect(try Data(contentsOf: file) == numbered(5))
        #expect(try bench.fileNames == ["photo.dat"])
    }

    @Test func `continues where it stopped`() async throws {
        await bench.s3.store("k", bytes)
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        await bench.s3.inject("GET", .failure(.interrupted), times: 5)
        #expect(await bench.code { try await bench.client().download("k", to: file) } == .unreachable)
        #expect(try bench.fileNames.count == 2)
        let before = await bench.http.sent.count
        try await bench.client().download("k", to: file)
        let sent = await bench.http.sent.dropFirst(before)
        #expect(sent.map(\.request.method) == ["HEAD", "GET"])
        #expect(sent.last?["range"] == "bytes=16-")
        #expect(await sent.last?["if-match"] == bench.s3.objects["k"]?.entityTag)
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try bench.fileNames == ["photo.dat"])
    }

    @Test func `begins anew when it is another object by now`() async throws {
        await bench.s3.store("k", bytes)
        let client = bench.client()
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        await bench.s3.inject("GET", MemoryS3.error(403, "AccessDenied"))
        #expect(await bench.code { try await client.download("k", to: file) } == .accessDenied)
        let other = Data(bytes.reversed())
        await bench.s3.store("k", other)
        try await client.download("k", to: file)
        #expect(try Data(contentsOf: file) == other)
        // And when it becomes another one between two requests.
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        try await client.download("k", to: file)
        #expect(try Data(contentsOf: file) == other)
    }

    @Test func `accepts no other range than it requested`() async throws {
        await bench.s3.store("k", bytes)
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        // All of it, instead of the rest.
        await bench.s3.inject("GET", .response(200, rangeFields(0, 49), bytes))
        try await bench.client().download("k", to: file)
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test func `keeps what has arrived when the disk is full`() async throws {
        await bench.s3.store("k", bytes)
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        await bench.s3.inject("GET", .failure(.unwritableFile(isFull: true)))
        let client = bench.client()
        #expect(await bench.code { try await client.download("k", to: file) } == .diskFull)
        try await client.download("k", to: file)
        #expect(await bench.http.sent.last?["range"] == "bytes=16-")
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test func `does not write where it may not`() async throws {
        await bench.s3.store("k", numbered(5))
        let nowhere = bench.folder.appendingPathComponent("none/photo.dat")
        #expect(await bench.code { try await bench.client().download("k", to: nowhere) } == .unwritableFile)
    }

    @Test(arguments: ["tag", "partial"])
    func `goes on from nothing behind a symbolic link, and writes through none`(name: String) async throws {
        await bench.s3.store("k", bytes)
        await bench.s3.inject("GET", .response(206, rangeFields(0, 15), numbered(16)))
        await bench.s3.inject("GET", MemoryS3.error(403, "AccessDenied"))
        let client = bench.client()
        #expect(await bench.code { try await client.download("k", to: file) } == .accessDenied)
        let kept = try #require(bench.fileNames.first { $0.hasSuffix(name) })
        let (place, elsewhere) = (bench.folder.appendingPathComponent(kept), bench.folder.appendingPathComponent("e"))
        try FileManager.default.moveItem(at: place, to: elsewhere)
        let before = FileManager.default.contents(atPath: elsewhere.path)
        let sent = await bench.http.sent.count
        try FileManager.default.createSymbolicLink(at: place, withDestinationURL: elsewhere)
        try await client.download("k", to: file)
        #expect(await bench.http.sent.dropFirst(sent).compactMap { $0["range"] } == ["bytes=0-15", "bytes=16-"])
        #expect(try Data(contentsOf: file) == bytes)
        #expect(FileManager.default.contents(atPath: elsewhere.path) == before)
    }

    @Test func `writes one file once at a time`() async throws {
        await bench.s3.store("k", numbered(5))
        await bench.s3.inject("GET", .hang)
        let client = bench.client()
        let first = Task { try await client.download("k", to: file) }
        await bench.http.arrival(of: 1)
        #expect(await bench.code { try await client.download("k", to: file) } == .storeInUse)
        first.cancel()
        #expect(await bench.code { try await first.value } == .cancelled)
        try await client.download("k", to: file)
    }

    @Test func `takes names as long as a file system does`() async throws {
        await bench.s3.store("k", numbered(5))
        let long = bench.folder.appendingPathComponent(String(repeating: "n", count: 255))
        try await bench.client().download("k", to: long)
        #expect(try Data(contentsOf: long) == numbered(5))
    }

    private func rangeFields(_ first: Int, _ last: Int) -> [(name: String, value: String)] {
        [
            ("ETag", "\"\(MD5.hash(bytes).hexadecimal)\""), ("Content-Length", String(last - first + 1)),
            ("Content-Range", "bytes \(first)-\(last)/50"),
        ]
    }
}
