import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

struct S3TierFetchTests {
    private let bench: S3TierBench
    private let file: URL

    init() throws {
        bench = try S3TierBench()
        file = bench.folder.appendingPathComponent("cold.jpg")
    }

    private func tag(_ bytes: Data) -> String { "\"\(MD5.hash(bytes).hexadecimal)\"" }

    @Test(arguments: [(0, 2), (1, 1), (16, 1), (17, 2), (40, 2)])
    func `a photo comes by one request, a large one by two`(count: Int, requests: Int) async throws {
        let bytes = numbered(count)
        let photo = bench.photo(bytes)
        await bench.store(photo, bytes)
        let progress = Log<TransferProgress>()
        try await bench.tier.fetch(photo, to: file) { progress.append($0) }
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try bench.bench.fileNames == ["cold.jpg"])
        #expect(await bench.lines == Array(repeating: "GET /\(bench.key(photo))", count: requests))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(progress.all.last?.fraction == 1)
    }

    @Test(arguments: [16, 40])
    func `bytes of another SHA-256 never have the file's name`(count: Int) async throws {
        let bytes = numbered(count)
        let photo = bench.photo(bytes)
        // Equal MD5 and size, as the store tells.
        await bench.store(photo, inverted(bytes), tag: tag(bytes))
        let before = try bench.bench.file("cold.jpg", Data("before".utf8))
        #expect(await bench.code { try await bench.tier.fetch(photo, to: before, progress: nil) } == .checksumMismatch)
        #expect(try Data(contentsOf: before) == Data("before".utf8))
        #expect(try bench.bench.fileNames == ["cold.jpg"])
        // Where the tag says nothing either.
        await bench.store(photo, inverted(bytes), tag: "\"kms\"")
        #expect(await bench.code { try await bench.tier.fetch(photo, to: before, progress: nil) } == .checksumMismatch)
        #expect(try Data(contentsOf: before) == Data("before".utf8))
    }

    @Test(arguments: [16, 40]) func `a photo of unknown SHA-256 is checked by its MD5`(count: Int) async throws {
        let bytes = numbered(count)
        var photo = bench.photo(bytes)
        photo.sha256 = nil
        await bench.store(photo, bytes, tag: "\"kms\"")
        try await bench.tier.fetch(photo, to: file, progress: nil)
        #expect(try Data(contentsOf: file) == bytes)
        await bench.store(photo, inverted(bytes), tag: "\"kms\"")
        #expect(await bench.code { try await bench.tier.fetch(photo, to: file, progress: nil) } == .checksumMismatch)
        #expect(try Data(contentsOf: file) == bytes)
    }

    @Test func `continues where it stopped`() async throws {
        let bytes = numbered(40)
        let photo = bench.photo(bytes)
        await bench.store(photo, bytes)
        let first: [(name: String, value: String)] = [("ETag", tag(bytes)), ("Content-Range", "bytes 0-15/40")]
        await bench.s3.inject("GET", .response(206, first, bytes.prefix(16)))
        await bench.s3.inject("GET", .failure(.notAllowedNow))
        #expect(await bench.code { try await bench.tier.fetch(photo, to: file, progress: nil) } == .notAllowedNow)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        let before = await bench.lines.count
        try await bench.tier.fetch(photo, to: file, progress: nil)
        #expect(await bench.http.sent.dropFirst(before).map { $0["range"] } == [nil, "bytes=16-"])
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try bench.bench.fileNames == ["cold.jpg"])
    }

    @Test(arguments: [15, 41, 10_000])
    func `an object of another size is not read to its end`(count: Int) async throws {
        let photo = bench.photo(numbered(40))
        await bench.store(photo, numbered(count))
        #expect(await bench.code { try await bench.tier.fetch(photo, to: file, progress: nil) } == .checksumMismatch)
        #expect(await bench.lines.count == 1)
        #expect(try bench.bench.fileNames.isEmpty)
    }

    @Test(arguments: [
        (MemoryS3.error(404, "NoSuchKey"), CloakroomError.Code.noSuchObject), (.response(404), .invalidRequest),
        (MemoryS3.error(403, "InvalidObjectState"), .archived), (MemoryS3.error(403, "AccessDenied"), .accessDenied),
        (.failure(.unreachable), .unreachable), (.response(200, [], Data("<html/>".utf8)), .invalidResponse),
    ])
    func `says why there is no photo`(response: ScriptedHTTP.Step, expected: CloakroomError.Code) async throws {
        let photo = bench.photo(numbered(40))
        await bench.s3.inject("GET", response, times: 9)
        #expect(await bench.code { try await bench.tier.fetch(photo, to: file, progress: nil) } == expected)
        #expect(try bench.bench.fileNames.isEmpty)
    }
}
