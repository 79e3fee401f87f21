import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

struct S3TierPutTests {
    private let bench: S3TierBench
    private let bytes = numbered(15)
    private let file: URL

    init() throws {
        bench = try S3TierBench()
        file = try bench.bench.file("photo.jpg", bytes)
    }

    @Test(arguments: [
        ("jpg", "image/jpeg"), ("heic", "image/heic"), ("cr3", "image/x-canon-cr3"),
        ("dat", "application/octet-stream"),
    ])
    func `stores a photo by one request, with its digests and its format`(format: String, type: String) async throws {
        let photo = bench.photo(bytes, format: format)
        let progress = Log<TransferProgress>()
        try await bench.tier.put(file, photo) { progress.append($0) }
        #expect(await bench.lines == ["PUT /\(bench.key(photo))"])
        let sent = try #require(await bench.http.sent.first)
        #expect(sent["if-none-match"] == "*" && sent["content-type"] == type)
        #expect(sent["content-md5"] == Data(MD5.hash(bytes)).base64EncodedString())
        #expect(sent["x-amz-meta-sha256"] == SHA256.hash(bytes).hexadecimal)
        #expect(sent["x-amz-meta-original-format"] == format)
        #expect(await bench.stored(photo)?.bytes == bytes)
        #expect(progress.all.last == TransferProgress(bytesDone: 15, bytesTotal: 15))
    }

    @Test func `a photo, its thumbnail and the proof are three requests`() async throws {
        let photo = bench.photo(bytes)
        try await bench.tier.put(file, photo, progress: nil)
        try await bench.tier.putThumbnail(Data("thumbnail".utf8), of: photo)
        #expect(try await bench.tier.verify(photo, file: file) != nil)
        let name = photo.md5.hexadecimal
        #expect(
            await bench.lines == [
                "PUT /photos/u_1/tiers/\(name).dat", "PUT /thumbnails/u_1/tiers/\(name).jpg",
                "HEAD /photos/u_1/tiers/\(name).dat",
            ])
    }

    @Test(arguments: ["", "jpg/../x", "JPG", "an extension"])
    func `a format that is no extension is not stored`(format: String) async throws {
        try await bench.tier.put(file, bench.photo(bytes, format: format), progress: nil)
        #expect(await bench.http.sent.first?["x-amz-meta-original-format"] == nil)
        #expect(await bench.http.sent.first?["content-type"] == "application/octet-stream")
    }

    @Test func `a photo that is there is left as it is`() async throws {
        let photo = bench.photo(bytes)
        await bench.store(photo, bytes, fields: ["content-type": "image/x-first"])
        let progress = Log<TransferProgress>()
        try await bench.tier.put(file, photo) { progress.append($0) }
        #expect(await bench.lines == ["PUT /\(bench.key(photo))", "HEAD /\(bench.key(photo))"])
        #expect(await bench.stored(photo)?.fields["content-type"] == "image/x-first")
        #expect(progress.all.last == TransferProgress(bytesDone: 15, bytesTotal: 15))
    }

    @Test(arguments: [false, true], [numbered(14), inverted(numbered(15))])
    func `another photo of the same key is a collision, and stays`(isLarge: Bool, other: Data) async throws {
        let bytes = isLarge ? numbered(25) : bytes
        let file = try bench.bench.file("photo.jpg", bytes)
        let photo = bench.photo(bytes)
        let other = isLarge ? other + Data(count: 10) : other
        let digest = ["x-amz-meta-sha256": SHA256.hash(other).hexadecimal]
        await bench.store(photo, other, tag: "\"\(photo.md5.hexadecimal)\"", fields: digest)
        #expect(await bench.code { try await bench.tier.put(file, photo, progress: nil) } == .photoCollision)
        #expect(await bench.stored(photo)?.bytes == other)
    }

    @Test func `a store without conditions is looked at before anything is overwritten`() async throws {
        let photo = bench.photo(bytes)
        let refusal = MemoryS3.error(501, "NotImplemented")
        await bench.s3.inject("PUT", refusal)
        try await bench.tier.put(file, photo, progress: nil)
        let key = bench.key(photo)
        #expect(await bench.lines == ["PUT /\(key)", "HEAD /\(key)", "GET /\(key)", "PUT /\(key)"])
        #expect(await bench.http.sent.last?["if-none-match"] == nil)
        #expect(await bench.stored(photo)?.bytes == bytes)

        await bench.s3.inject("PUT", refusal, times: 2)
        try await bench.tier.put(file, photo, progress: nil)
        #expect(await bench.lines.suffix(2) == ["PUT /\(key)", "HEAD /\(key)"])
        await bench.s3.store(key, inverted(bytes), fields: ["x-amz-meta-sha256": SHA256.hash([1]).hexadecimal])
        #expect(await bench.code { try await bench.tier.put(file, photo, progress: nil) } == .photoCollision)
        #expect(await bench.stored(photo)?.bytes == inverted(bytes))
    }

    @Test(arguments: [(409, "ConditionalRequestConflict"), (412, "PreconditionFailed")])
    func `after a write at the same time that left nothing it is stored, if it is new still`(
        status: Int, code: String
    ) async throws {
        let photo = bench.photo(bytes)
        await bench.s3.inject("PUT", MemoryS3.error(status, code))
        try await bench.tier.put(file, photo, progress: nil)
        #expect(await bench.stored(photo)?.bytes == bytes)
        let puts = await bench.http.sent.filter { $0.request.method == "PUT" }
        #expect(puts.count == 2 && puts.allSatisfy { $0["if-none-match"] == "*" })
        await bench.s3.delete(bench.key(photo))
        await bench.s3.inject("PUT", MemoryS3.error(412, "PreconditionFailed"), times: 9)
        #expect(await bench.code { try await bench.tier.put(file, photo, progress: nil) } == .unavailable)
        #expect(await bench.stored(photo) == nil)
    }

    @Test func `stored although the response was lost`() async throws {
        let photo = bench.photo(bytes)
        await bench.s3.inject("PUT", .failure(.interrupted), afterwards: true)
        try await bench.tier.put(file, photo, progress: nil)
        #expect(try await bench.tier.verify(photo, file: nil) != nil)
    }

    @Test func `a large photo goes up in parts, and continues where it stopped`() async throws {
        let large = numbered(25)
        let file = try bench.bench.file("large.mov", large)
        let photo = bench.photo(large, format: "mov")
        await bench.s3.inject("partNumber=3", MemoryS3.error(403, "AccessDenied"))
        #expect(await bench.code { try await bench.tier.put(file, photo, progress: nil) } == .accessDenied)
        let before = await bench.lines.count
        try await bench.tier.put(file, photo, progress: nil)
        let lines = await bench.lines.dropFirst(before)
        #expect(lines.filter { $0.hasPrefix("PUT") }.count == 1, "\(lines)")
        let stored = try #require(await bench.stored(photo))
        #expect(stored.bytes == large && stored.entityTag.hasSuffix("-3\""))
        #expect(stored.fields["x-amz-meta-sha256"] == SHA256.hash(large).hexadecimal)
        #expect(stored.fields["x-amz-meta-original-format"] == "mov")
        #expect(stored.fields["content-type"] == "video/quicktime")
        // And once more, when it is there.
        try await bench.tier.put(file, photo, progress: nil)
        #expect(await bench.s3.uploads.isEmpty)
    }

    @Test(arguments: [14, 25]) func `a file of another length is not the photo, and not stored`(
        count: Int
    ) async throws {
        let photo = bench.photo(bytes)
        let other = try bench.bench.file("other.jpg", numbered(count))
        #expect(await bench.code { try await bench.tier.put(other, photo, progress: nil) } == .photoDamaged)
        #expect(await bench.lines.isEmpty)
    }

    @Test func `a file of other bytes is not stored`() async throws {
        let photo = bench.photo(bytes)
        let other = try bench.bench.file("other.jpg", inverted(bytes))
        #expect(await bench.code { try await bench.tier.put(other, photo, progress: nil) } == .checksumMismatch)
        #expect(await bench.stored(photo) == nil)
    }

    @Test func `a photo that is deleted is absent, twice`() async throws {
        let photo = bench.photo(bytes)
        try await bench.tier.put(file, photo, progress: nil)
        try await bench.tier.delete(photo)
        try await bench.tier.delete(photo)
        #expect(await bench.stored(photo) == nil)
        #expect(try await bench.tier.verify(photo, file: nil) == nil)
    }
}
