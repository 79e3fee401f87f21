import CloakroomAWS
import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

struct S3TierListTests {
    private let bench: S3TierBench

    init() throws { bench = try S3TierBench() }

    private func page(_ contents: String, date: String? = nil, isTruncated: Bool = false) -> ScriptedHTTP.Step {
        let more = isTruncated ? "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>" : ""
        let fields = date.map { [(name: "Date", value: $0)] } ?? []
        return .response(200, fields, Data("<ListBucketResult>\(more)\(contents)</ListBucketResult>".utf8))
    }

    private func listed() async throws -> [ColdObject] {
        var objects: [ColdObject] = []
        for try await object in bench.tier.list() { objects.append(object) }
        return objects
    }

    @Test func `lists the user's photos, page after page, and nothing else`() async throws {
        let photos = (0..<5).map { bench.photo(numbered($0)) }.sorted { $0.md5.hexadecimal < $1.md5.hexadecimal }
        for photo in photos { await bench.store(photo, numbered(Int(photo.byteCount))) }
        let name = MD5.hash([1]).hexadecimal
        for other in [
            "photos/u_1/tiers/notes.txt", "photos/u_1/tiers/\(name)", "photos/u_1/tiers/\(name.uppercased()).dat",
            "photos/u_1/tiers/below/\(name).dat", "photos/u_1/\(name).dat", "photos/u_10/tiers/\(name).dat",
            "thumbnails/u_1/tiers/\(name).jpg",
        ] { await bench.s3.store(other, Data(other.utf8)) }
        #expect(
            try await listed()
                == photos.map { ColdObject(key: bench.key($0), md5: $0.md5, byteCount: $0.byteCount) })
    }

    @Test func `tells what is archived`() async throws {
        let name = MD5.hash([1]).hexadecimal
        let classes = ["GLACIER": true, "DEEP_ARCHIVE": true, "GLACIER_IR": false, "STANDARD": false]
        for (storageClass, isArchived) in classes {
            let key = "photos/u_1/tiers/\(name).dat"
            let fields = "<Key>\(key)</Key><Size>1</Size><StorageClass>\(storageClass)</StorageClass>"
            await bench.s3.inject("list-type=2", page("<Contents>\(fields)</Contents>"))
            let expected = ColdObject(key: key, md5: MD5.hash([1]), byteCount: 1, isArchived: isArchived)
            #expect(try await listed() == [expected])
        }
    }

    @Test func `a listing that ends too early throws, after what came`() async throws {
        for number in 0..<5 { await bench.store(bench.photo(numbered(number)), numbered(number)) }
        await bench.s3.inject("continuation-token", MemoryS3.error(403, "AccessDenied"))
        var count = 0
        let code = await bench.code { for try await _ in bench.tier.list() { count += 1 } }
        #expect(code == .accessDenied && count == 2)
    }

    @Test(arguments: ["<Size>-1</Size>", "<Size>9223372036854775807</Size>", "<Size/>", ""])
    func `a photo of no size is not passed over`(size: String) async throws {
        let key = "photos/u_1/tiers/\(MD5.hash([1]).hexadecimal).dat"
        await bench.s3.inject("list-type=2", page("<Contents><Key>\(key)</Key>\(size)</Contents>"))
        #expect(await bench.code { try await listed() } == .invalidResponse)
    }

    @Test func `documents come as they were stored, and are listed with the store's time`() async throws {
        let tier = bench.tier
        // Longer than the first range, and than the budget.
        let documents = ["a.json": numbered(100), "b_-1.bin": Data(), "c": numbered(16)]
        for (name, bytes) in documents { try await tier.putDocument(bytes, named: name) }
        for (name, bytes) in documents { #expect(try await tier.document(named: name) == bytes) }
        #expect(Set(await bench.s3.objects.keys) == Set(documents.keys.map { "catalogs/u_1/\($0)" }))
        for other in [".hidden", "below/a.json", "é", String(repeating: "n", count: 201)] {
            await bench.s3.store("catalogs/u_1/\(other)", Data())
        }
        let listing = try await tier.documents()
        let modified = Date(timeIntervalSince1970: 1_795_183_200)
        #expect(
            listing.documents.sorted { $0.name < $1.name }
                == documents.sorted { $0.key < $1.key }.map {
                    .init(name: $0.key, byteCount: Int64($0.value.count), modified: modified)
                })
        #expect(listing.date == nil)
        for name in documents.keys {
            try await tier.deleteDocument(named: name)
            try await tier.deleteDocument(named: name)
            #expect(try await tier.document(named: name) == nil)
        }
        try await tier.putDocument(Data("1".utf8), named: "d")
        try await tier.putDocument(Data("2".utf8), named: "d")
        #expect(try await tier.document(named: "d") == Data("2".utf8))
    }

    @Test(arguments: [
        ("Fri, 20 Nov 2026 14:00:05 GMT", Date(timeIntervalSince1970: 1_795_183_205)), ("now", nil), (nil, nil),
    ])
    func `the date of a listing is that of its first page`(date: String?, expected: Date?) async throws {
        let entry = { (name: String) in
            "<Contents><Key>catalogs/u_1/\(name)</Key><Size>1</Size>"
                + "<LastModified>2026-11-20T14:00:00.000Z</LastModified></Contents>"
        }
        await bench.s3.inject("list-type=2", page(entry("a"), date: date, isTruncated: true))
        await bench.s3.inject("list-type=2", page(entry("b"), date: "Fri, 20 Nov 2026 15:00:00 GMT"))
        let listing = try await bench.tier.documents()
        #expect(listing.documents.map(\.name) == ["a", "b"] && listing.date == expected)
    }

    @Test(arguments: [
        "<Size>1</Size>", "<Size>1</Size><LastModified>soon</LastModified>",
        "<Size>1</Size><LastModified>2026-13-20T14:00:00Z</LastModified>",
        "<Size>-1</Size><LastModified>2026-11-20T14:00:00Z</LastModified>",
        "<LastModified>2026-11-20T14:00:00Z</LastModified>",
    ])
    func `a document of no date or no size is not passed over`(fields: String) async throws {
        let entry = "<Contents><Key>catalogs/u_1/a</Key>\(fields)</Contents>"
        await bench.s3.inject("list-type=2", page(entry))
        #expect(await bench.code { try await bench.tier.documents() } == .invalidResponse)
    }

    @Test func `half a listing of documents is none`() async throws {
        for name in ["a", "b", "c"] { try await bench.tier.putDocument(Data(), named: name) }
        await bench.s3.inject("continuation-token", .failure(.unreachable), times: 9)
        #expect(await bench.code { try await bench.tier.documents() } == .unreachable)
    }

    @Test func `more documents than a user has are refused, however many pages they come in`() async throws {
        for number in 0..<5 { await bench.s3.store("catalogs/u_1/\(number)", Data()) }
        let client = bench.client
        #expect(try await client.listing(prefix: "catalogs/u_1/", maximumCount: 5).objects.count == 5)
        let code = await bench.code { try await client.listing(prefix: "catalogs/u_1/", maximumCount: 4) }
        #expect(code == .invalidResponse)
    }

    @Test(arguments: ["", ".a", "a/b", "../a", "é", String(repeating: "n", count: 201)])
    func `a name that is none is refused before a request`(name: String) async throws {
        let tier = bench.tier
        #expect(await bench.code { try await tier.putDocument(Data(), named: name) } == .invalidRequest)
        #expect(await bench.code { try await tier.document(named: name) } == .invalidRequest)
        #expect(await bench.code { try await tier.deleteDocument(named: name) } == .invalidRequest)
        #expect(await bench.lines.isEmpty)
    }

    @Test func `a document that changes while it is read, or is damaged, is an error`() async throws {
        let tier = bench.tier
        try await tier.putDocument(numbered(40), named: "a")
        let key = "catalogs/u_1/a"
        let fields = [
            (name: "ETag", value: "\"\(MD5.hash(numbered(40)).hexadecimal)\""),
            (name: "Content-Range", value: "bytes 0-15/40"),
            (name: "Last-Modified", value: "Fri, 20 Nov 2026 14:00:00 GMT"),
        ]
        // Only the first piece is of the old one.
        await bench.s3.inject("GET", .response(206, fields, numbered(16)))
        await bench.s3.store(key, inverted(numbered(40)))
        #expect(await bench.code { try await tier.document(named: "a") } == .conditionFailed)
        await bench.s3.spoil(key)
        #expect(await bench.code { try await tier.document(named: "a") } == .checksumMismatch)
        // Fewer bytes than the store says.
        await bench.s3.store(key, numbered(40))
        await bench.s3.inject("GET", .response(206, fields, numbered(15)))
        #expect(await bench.code { try await tier.document(named: "a") } == .invalidResponse)
        let endless = [fields[0], fields[2], (name: "Content-Range", value: "bytes 0-15/6000000000000")]
        await bench.s3.forgetInjectedFaults()
        await bench.s3.inject("GET", .response(206, endless, numbered(16)))
        #expect(await bench.code { try await tier.document(named: "a") } == .bodyTooLarge)
    }

    @Test func `thumbnails are stored, read and deleted by the photo's digest`() async throws {
        let photo = bench.photo(numbered(9))
        let thumbnail = Data("thumbnail".utf8)
        #expect(try await bench.tier.thumbnail(of: photo) == nil)
        try await bench.tier.putThumbnail(thumbnail, of: photo)
        let key = "thumbnails/u_1/tiers/\(photo.md5.hexadecimal).jpg"
        #expect(await bench.s3.objects[key]?.fields["content-type"] == "image/jpeg")
        #expect(try await bench.tier.thumbnail(of: photo) == thumbnail)
        await bench.s3.store(key, Data(count: 600_000))
        #expect(await bench.code { try await bench.tier.thumbnail(of: photo) } == .bodyTooLarge)
        await bench.s3.inject("GET", .response(404))
        #expect(await bench.code { try await bench.tier.thumbnail(of: photo) } == .invalidRequest)
        try await bench.tier.deleteThumbnail(of: photo)
        try await bench.tier.deleteThumbnail(of: photo)
        #expect(await bench.s3.objects.isEmpty)
    }
}
