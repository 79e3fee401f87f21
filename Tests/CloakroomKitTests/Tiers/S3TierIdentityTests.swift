import CloakroomAWS
import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit
@testable import CloakroomTiers

struct S3TierIdentityTests {
    @Test func `a user whose storage is used up still reads, with credentials that only read`() async throws {
        let bench = try S3TierBench()
        let photo = bench.photo(numbered(40))
        await bench.store(photo, numbered(40))
        let full = bench.tier { throw CloakroomError(.storageQuotaExceeded, "the storage is used up", status: 403) }
        let file = bench.folder.appendingPathComponent("fetched")
        #expect(await bench.code { try await full.fetch(photo, to: file, progress: nil) } == .storageQuotaExceeded)
        let tier = S3ColdTier(client: full.client, layout: bench.layout, reader: bench.client)
        try await tier.fetch(photo, to: file, progress: nil)
        #expect(try Data(contentsOf: file) == numbered(40))
        #expect(try await tier.identity == bench.tier.identity)
        #expect(await tier.availability().failure?.code == .storageQuotaExceeded)
    }

    private let bench: S3TierBench

    init() throws { bench = try S3TierBench() }

    @Test(arguments: [
        ("http://127.0.0.1:8333", "photos", "s3:http://127.0.0.1:8333/photos/u_1"),
        ("https://Store.example:443/s3/", "photos", "s3:https://store.example/s3/photos/u_1"),
        (nil, "photos", "s3:https://s3.eu-west-1.amazonaws.com/photos/u_1"),
        (nil, "photos.example.com", "s3:https://s3.eu-west-1.amazonaws.com/photos.example.com/u_1"),
    ])
    func `names the store, the bucket and the user`(endpoint: String?, bucket: String, expected: String) async throws {
        let tier = bench.tier(endpoint: endpoint) { (bucket, "eu-west-1") }
        #expect(try await tier.identity == TierIdentity(expected))
        #expect(await bench.lines.isEmpty)
    }

    @Test func `is another one for another bucket, region or user`() async throws {
        var identities: Set<TierIdentity> = []
        for (bucket, region, user) in [
            ("photos", "eu-west-1", "u_1"), ("other", "eu-west-1", "u_1"), ("photos", "us-east-1", "u_1"),
            ("photos", "eu-west-1", "u_2"),
        ] {
            let client = bench.tier(endpoint: nil) { (bucket, region) }.client
            identities.insert(try await S3ColdTier(client: client, layout: PhotoLayout(userID: user)).identity)
        }
        #expect(identities.count == 4)
    }

    @Test func `follows the credentials`() async throws {
        let buckets = Log<String>()
        buckets.append("photos")
        let tier = bench.tier { (buckets.all.last ?? "", "eu-west-1") }
        let first = try await tier.identity
        #expect(try await tier.identity == first)
        buckets.append("moved")
        #expect(try await tier.identity == TierIdentity("s3:http://127.0.0.1:1/moved/u_1"))
    }

    @Test(arguments: [
        CloakroomError.Code.userDisabled, .subscriptionRequired, .storageQuotaExceeded, .unauthorized, .unreachable,
    ])
    func `photos cannot be stored without credentials, and why is told`(code: CloakroomError.Code) async {
        let failure = CloakroomError(code, "no", status: 403, retryAfter: .seconds(5))
        let tier = bench.tier { throw failure }
        #expect(await tier.availability() == TierAvailability(failure: failure))
        #expect(await bench.code { try await tier.identity } == code)
    }

    @Test func `photos can be stored while there are credentials, and there is no quota`() async {
        #expect(await bench.tier.availability() == TierAvailability(failure: nil, quota: nil))
        let broken = bench.tier { ("not a bucket", "no region") }
        #expect(await broken.availability().failure?.code == .invalidRequest)
    }
}

/// Objects in the tier's folder that it did not store itself.
struct S3TierForeignObjectTests {
    private let bench: S3TierBench

    init() throws { bench = try S3TierBench() }

    @Test(arguments: [15, 50]) func `what another client stored is there, and read back once`(count: Int) async throws {
        let bytes = numbered(count)
        let file = try bench.bench.file("IMG_1.HEIC", bytes)
        let photo = bench.photo(bytes, format: "heic")
        try await bench.client.put(file: file, to: bench.key(photo))
        #expect(await bench.stored(photo)?.fields["x-amz-meta-sha256"] == nil)
        try await bench.tier.put(file, photo, progress: nil)
        var before = await bench.lines.count
        let proof = try #require(try await bench.tier.verify(photo, file: file))
        let lines = await bench.lines.dropFirst(before)
        #expect(lines.first?.hasPrefix("HEAD") == true && lines.dropFirst().allSatisfy { $0.hasPrefix("GET") })
        #expect(lines.count == 1 + (count + 15) / 16)
        var proven = photo
        proven.provenTag = proof.tag
        before = await bench.lines.count
        #expect(try await bench.tier.verify(proven, file: nil)?.tag == proof.tag)
        #expect(await bench.lines.count == before + 1)
        let cold = bench.folder.appendingPathComponent("cold")
        try await bench.tier.fetch(photo, to: cold, progress: nil)
        #expect(try Data(contentsOf: cold) == bytes)
    }
}
