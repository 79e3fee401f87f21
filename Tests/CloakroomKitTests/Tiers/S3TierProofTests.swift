import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

struct S3TierProofTests {
    private let bench: S3TierBench
    private let bytes = numbered(40)
    private let photo: PhotoDescriptor

    init() throws {
        bench = try S3TierBench()
        photo = bench.photo(bytes)
    }

    private var head: String { "HEAD /\(bench.key(photo))" }
    private var get: String { "GET /\(bench.key(photo))" }
    private func code(file: URL? = nil) async -> CloakroomError.Code? {
        await bench.code { try await bench.tier.verify(photo, file: file) }
    }

    @Test func `one HEAD proves what was stored by one PUT`() async throws {
        await bench.store(photo, bytes, fields: ["Date": "Fri, 20 Nov 2026 14:00:05 GMT"])
        #expect(
            try await bench.tier.verify(photo, file: nil)
                == ColdProof(
                    identity: TierIdentity("s3:http://127.0.0.1:1/photos/u_1"), key: bench.key(photo),
                    tag: "\"\(photo.md5.hexadecimal)\"", date: Date(timeIntervalSince1970: 1_795_183_205)))
        #expect(await bench.lines == [head])
    }

    @Test(arguments: [nil, "", "yesterday", "Fri, 99 Nov 2026 14:00:05 GMT", "2026-11-20T14:00:05Z"])
    func `a proof has no date where the store gives none`(date: String?) async throws {
        await bench.store(photo, bytes, fields: date.map { ["Date": $0] } ?? [:])
        let proof = try #require(try await bench.tier.verify(photo, file: nil))
        #expect(proof.date == nil)
    }

    @Test func `a rule for thumbnails or documents is seen by a HEAD of one of each`() async throws {
        let thumbnail = "thumbnails/u_1/tiers/\(photo.md5.hexadecimal).jpg"
        #expect(await bench.code { try await bench.tier.checkStays(thumbnailOf: photo, document: "s.json") } == nil)
        await bench.s3.store(thumbnail, bytes)
        await bench.s3.store("catalogs/u_1/s.json", bytes, fields: ["x-amz-expiration": "soon"])
        #expect(await bench.code { try await bench.tier.checkStays(thumbnailOf: photo, document: nil) } == nil)
        #expect(
            await bench.code { try await bench.tier.checkStays(thumbnailOf: photo, document: "s.json") }
                == .photoExpiring)
        await bench.s3.store(thumbnail, bytes, fields: ["x-amz-storage-class": "GLACIER"])
        #expect(await bench.code { try await bench.tier.checkStays(thumbnailOf: photo, document: nil) } == .archived)
    }

    @Test func `a version is part of the tag`() async throws {
        await bench.store(photo, bytes, fields: ["x-amz-version-id": "v7"])
        #expect(try await bench.tier.verify(photo, file: nil)?.tag == "\"\(photo.md5.hexadecimal)\";v7")
    }

    @Test func `absent is said only by S3`() async throws {
        #expect(try await bench.tier.verify(photo, file: nil) == nil)
        #expect(await bench.lines == [head, get])
        for (response, expected) in [
            (MemoryS3.error(404, "NoSuchBucket"), CloakroomError.Code.invalidRequest),
            (.response(404), .invalidRequest),
            (MemoryS3.error(403, "AccessDenied"), .accessDenied),
        ] {
            await bench.s3.inject("GET", response, times: 9)
            #expect(await code() == expected)
            await bench.s3.forgetInjectedFaults()
        }
        await bench.s3.inject("HEAD", .response(403), times: 9)
        #expect(await code() == .accessDenied)
    }

    @Test(arguments: [
        #"expiry-date="Fri, 21 Dec 2012 00:00:00 GMT", rule-id="all%20photos""#, "soon", "", "\u{FFFD}",
    ])
    func `what a rule is going to delete is no proof, and the rule is named`(field: String) async throws {
        await bench.store(photo, bytes, fields: ["x-amz-expiration": field])
        do {
            _ = try await bench.tier.verify(photo, file: nil)
            Issue.record("a proof of an object that is going to be deleted")
        } catch let error as CloakroomError {
            #expect(error.code == .photoExpiring)
            #expect(error.message.hasSuffix(field) && error.message.contains(bench.key(photo)))
        }
    }

    @Test(arguments: [
        ["x-amz-storage-class": "GLACIER"], ["x-amz-storage-class": "DEEP_ARCHIVE"],
        ["x-amz-storage-class": "INTELLIGENT_TIERING", "x-amz-archive-status": "ARCHIVE_ACCESS"],
        ["x-amz-archive-status": "DEEP_ARCHIVE_ACCESS"],
        [
            "x-amz-storage-class": "GLACIER",
            "x-amz-restore": #"ongoing-request="false", expiry-date="Fri, 21 Dec 2029 00:00:00 GMT""#,
        ],
    ])
    func `what is in an archive tier is no proof, restored for some days or not`(fields: [String: String]) async throws
    {
        await bench.store(photo, bytes, fields: fields)
        #expect(await code() == .archived)
        #expect(await bench.lines == [head])
    }

    @Test(arguments: ["GLACIER_IR", "STANDARD_IA", "INTELLIGENT_TIERING", "ONEZONE_IA"])
    func `what can be read at once is proven, whatever it costs`(storageClass: String) async throws {
        await bench.store(photo, bytes, fields: ["x-amz-storage-class": storageClass])
        #expect(try await bench.tier.verify(photo, file: nil) != nil)
    }

    /// What HEAD leaves open: an entity tag that is no MD5, or no SHA-256 of ours.
    static let unknown: [(tag: String?, fields: [String: String])] = [
        ("\"kms\"", ["x-amz-server-side-encryption": "aws:kms"]),
        (nil, ["x-amz-server-side-encryption": "aws:kms:dsse"]),
        ("\"0123456789abcdef0123456789abcdef\"", ["x-amz-server-side-encryption-customer-algorithm": "AES256"]),
        ("\"0123456789abcdef0123456789abcdef-2\"", [:]), ("\"0123456789abcdef0123456789abcdef\"", [:]), ("x", [:]),
        (nil, ["x-amz-meta-sha256": ""]), (nil, ["x-amz-meta-sha256": "abc"]),
        (nil, ["x-amz-meta-sha256": String(repeating: "é", count: 32)]),
        (nil, ["x-amz-meta-sha256": String(repeating: "0", count: 66)]),
    ]

    @Test(arguments: unknown)
    func `what HEAD leaves open is read back once, a few bytes at a time`(
        tag: String?, fields: [String: String]
    ) async throws {
        await bench.store(photo, bytes, tag: tag, fields: fields)
        let proof = try #require(try await bench.tier.verify(photo, file: nil))
        #expect(await bench.lines == [head, get, get, get])
        let sent = await bench.http.sent.dropFirst()
        #expect(sent.map { $0["range"] } == ["bytes=0-15", "bytes=16-31", "bytes=32-47"])
        #expect(sent.allSatisfy { $0["if-match"] == tag ?? "\"\(photo.md5.hexadecimal)\"" })
        // Proven once, HEAD shows that it is the same still.
        var proven = photo
        proven.provenTag = proof.tag
        #expect(try await bench.tier.verify(proven, file: nil) == proof)
        #expect(await bench.lines.dropFirst(4) == [head])
    }

    @Test(arguments: unknown)
    func `other bytes are a collision, when they are read back`(tag: String?, fields: [String: String]) async throws {
        let own = "\"\(photo.md5.hexadecimal)\""
        await bench.store(photo, inverted(bytes), tag: tag ?? own, fields: fields)
        #expect(await code() == .photoCollision)
    }

    @Test func `equal MD5 and size but another SHA-256 is a collision by HEAD alone`() async throws {
        let other = SHA256.hash(inverted(bytes)).hexadecimal
        await bench.store(
            photo, inverted(bytes), tag: "\"\(photo.md5.hexadecimal)\"", fields: ["x-amz-meta-sha256": other])
        #expect(await code() == .photoCollision)
        #expect(await bench.lines == [head])
        // Also where an earlier proof had that tag.
        var proven = photo
        proven.provenTag = "\"\(photo.md5.hexadecimal)\""
        #expect(await bench.code { try await bench.tier.verify(proven, file: nil) } == .photoCollision)
    }

    @Test(arguments: [nil, "null"])
    func `an object of equal MD5 that took the place of a proven one is read back`(version: String?) async throws {
        // Without a SHA-256, as another app stores it.
        var fields = ["x-amz-meta-sha256": ""]
        fields["x-amz-version-id"] = version
        await bench.store(photo, bytes, fields: fields)
        var proven = photo
        proven.provenTag = try await bench.tier.verify(photo, file: nil)?.tag
        let before = await bench.lines.count
        #expect(try await bench.tier.verify(proven, file: nil)?.tag == proven.provenTag)
        #expect(await bench.lines.dropFirst(before) == [head])
        fields["Last-Modified"] = "Fri, 20 Nov 2026 14:00:01 GMT"
        await bench.store(photo, inverted(bytes), tag: "\"\(photo.md5.hexadecimal)\"", fields: fields)
        #expect(await bench.code { try await bench.tier.verify(proven, file: nil) } == .photoCollision)
    }

    @Test func `another size is a collision, whatever was proven`() async throws {
        await bench.store(photo, numbered(39), tag: "\"kms\"")
        var proven = photo
        proven.provenTag = "\"kms\""
        #expect(await bench.code { try await bench.tier.verify(proven, file: nil) } == .photoCollision)
    }

    @Test func `another version or tag than was proven is read back again`() async throws {
        var proven = photo
        proven.provenTag = "\"kms\";v1"
        for (tag, version) in [("\"kms\"", "v2"), ("\"other\"", "v1")] {
            await bench.store(photo, bytes, tag: tag, fields: ["x-amz-version-id": version])
            #expect(try await bench.tier.verify(proven, file: nil)?.tag == "\(tag);\(version)")
        }
        #expect(await bench.lines.count { $0 == get } == 6)
    }

    @Test func `the file on the device proves what was uploaded in parts`() async throws {
        let file = try bench.bench.file("photo.jpg", bytes)
        try await bench.tier.put(file, photo, progress: nil)
        let before = await bench.lines.count
        #expect(try await bench.tier.verify(photo, file: file)?.tag.hasSuffix("-4\"") == true)
        #expect(await bench.lines.dropFirst(before) == [head])
        // A damaged one shows nothing, nor does one that is not there, or of parts of an unknown size.
        try inverted(bytes).write(to: file)
        #expect(try await bench.tier.verify(photo, file: file) != nil)
        #expect(try await bench.tier.verify(photo, file: bench.folder.appendingPathComponent("none")) != nil)
        #expect(try await bench.tier.verify(photo, file: nil) != nil)
        #expect(await bench.lines.dropFirst(before).count { $0 == get } == 9)
        // And nothing of other bytes in the store.
        try bytes.write(to: file)
        await bench.s3.store(
            bench.key(photo), inverted(bytes), tag: "\"0123456789abcdef0123456789abcdef-4\"",
            fields: [
                "x-amz-meta-sha256": SHA256.hash(bytes).hexadecimal, "x-amz-meta-cloakroom-part-size": "10",
            ])
        #expect(await code(file: file) == .photoCollision)
    }

    @Test(arguments: ["0", "-1", "many", "9223372036854775807"])
    func `parts of no use are read back`(size: String) async throws {
        let file = try bench.bench.file("photo.jpg", bytes)
        try await bench.tier.put(file, photo, progress: nil)
        await bench.s3.set("x-amz-meta-cloakroom-part-size", size, of: bench.key(photo))
        #expect(try await bench.tier.verify(photo, file: file) != nil)
        #expect(await bench.lines.last == get)
    }

    @Test(arguments: [
        (MemoryS3.error(403, "AccessDenied"), CloakroomError.Code.accessDenied), (.failure(.unreachable), .unreachable),
        (MemoryS3.error(412, "PreconditionFailed"), .conditionFailed),
        (MemoryS3.error(403, "InvalidObjectState"), .archived),
    ])
    func `what cannot be read back is not proven`(response: ScriptedHTTP.Step, expected: CloakroomError.Code) async {
        await bench.store(photo, bytes, tag: "\"kms\"")
        await bench.s3.inject("GET", response, times: 9)
        #expect(await code() == expected)
    }

    @Test func `what is deleted while it is read back is absent`() async throws {
        await bench.store(photo, bytes, tag: "\"kms\"")
        await bench.s3.inject("GET", MemoryS3.error(404, "NoSuchKey"))
        #expect(try await bench.tier.verify(photo, file: nil) == nil)
    }

    @Test(arguments: [
        ["ETag": "\"other\""], ["Last-Modified": "Fri, 20 Nov 2026 14:00:01 GMT"], ["x-amz-version-id": "v2"],
        ["Content-Range": "bytes 0-15/41"],
    ])
    func `another object than HEAD told of is not proven`(change: [String: String]) async throws {
        await bench.store(photo, bytes, tag: "\"kms\"")
        let fields = [
            "ETag": "\"kms\"", "Last-Modified": "Fri, 20 Nov 2026 14:00:00 GMT", "Content-Range": "bytes 0-15/40",
        ].merging(change) { $1 }
        await bench.s3.inject(
            "GET", .response(206, fields.map { (name: $0.key, value: $0.value) }, bytes.prefix(16)))
        let expected = change["Content-Range"] == nil ? CloakroomError.Code.conditionFailed : .bodyTooLarge
        #expect(await code() == expected)
    }

    @Test(arguments: [nil, "-1", "9223372036854775807", "much"])
    func `an object of no length proves nothing`(length: String?) async throws {
        let fields = length.map { [(name: "Content-Length", value: $0)] } ?? []
        let tag = (name: "ETag", value: "\"\(photo.md5.hexadecimal)\"")
        await bench.s3.inject("HEAD", .response(200, [tag] + fields))
        #expect(await code() == .invalidResponse)
    }

    @Test func `an empty photo is proven without being read`() async throws {
        let empty = bench.photo(Data())
        await bench.store(empty, Data(), tag: "\"kms\"", fields: ["x-amz-meta-sha256": ""])
        #expect(try await bench.tier.verify(empty, file: nil) != nil)
        #expect(await bench.lines.count == 1)
    }

    @Test func `a photo whose SHA-256 nobody knows yet is proven by its MD5`() async throws {
        await bench.store(photo, bytes)
        var listed = photo
        listed.sha256 = nil
        #expect(try await bench.tier.verify(listed, file: nil) != nil)
        #expect(await bench.lines == [head])
        await bench.store(photo, bytes, tag: "\"kms\"")
        #expect(try await bench.tier.verify(listed, file: nil) != nil)
        await bench.store(photo, inverted(bytes), tag: "\"kms\"")
        #expect(await bench.code { try await bench.tier.verify(listed, file: nil) } == .photoCollision)
    }

    @Test func `credentials for another bucket end a proof`() async throws {
        await bench.store(photo, bytes)
        let calls = Log<Int>()
        let tier = bench.tier {
            calls.append(0)
            return (calls.all.count < 3 ? "photos" : "other", "eu-west-1")
        }
        #expect(await bench.code { try await tier.verify(photo, file: nil) } == .accountChanged)
    }
}
