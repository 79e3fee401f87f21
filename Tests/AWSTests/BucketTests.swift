import CloakroomAWS
import Foundation
import CloakroomHTTP
import Testing

struct BucketTests {
    private let fake = FakeRuntime()

    @Test(arguments: [
        ("<Status>Enabled</Status>", BucketVersioning.enabled), ("<Status>Suspended</Status>", .suspended),
        ("", .never), ("<MfaDelete>Disabled</MfaDelete>", .never),
    ])
    func `tells whether old versions stay`(content: String, expected: BucketVersioning) async throws {
        let transport = ScriptedTransport(.xml(200, "<VersioningConfiguration>\(content)</VersioningConfiguration>"))
        #expect(try await fake.s3(transport).versioning(deadline: fake.deadline()) == expected)
        #expect(transport.requests.first?.url == "https://photos.s3.eu-west-1.amazonaws.com/?versioning")
    }

    @Test(arguments: [
        (200, "eu-west-1" as String?, BucketPresence.here(region: "eu-west-1")), (200, nil, .here(region: nil)),
        (301, "us-east-2", .elsewhere(region: "us-east-2")), (400, "us-east-2", .elsewhere(region: "us-east-2")),
        (403, "eu-west-1", .accessDenied(region: "eu-west-1")), (404, nil, .missing),
    ])
    func `tells where the bucket is`(status: Int, region: String?, expected: BucketPresence) async throws {
        var answer = UpstreamResponse(status: status)
        answer.fields["x-amz-bucket-region"] = region
        #expect(try await fake.s3(ScriptedTransport(answer)).presence(deadline: fake.deadline()) == expected)
    }

    @Test func `makes a bucket in the endpoint's Region, which the oldest one does not name`() async throws {
        let transport = ScriptedTransport(
            UpstreamResponse(status: 200), .s3Error(409, "BucketAlreadyOwnedByYou"), UpstreamResponse(status: 200))
        #expect(try await fake.s3(transport).createBucket(deadline: fake.deadline()))
        #expect(try await !fake.s3(transport).createBucket(deadline: fake.deadline()))
        #expect(try await fake.s3(transport, region: "us-east-1").createBucket(deadline: fake.deadline()))
        #expect(
            transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == [
                #"<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>"#
                    + "eu-west-1</LocationConstraint></CreateBucketConfiguration>",
                #"<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>"#
                    + "eu-west-1</LocationConstraint></CreateBucketConfiguration>", "",
            ])
        await #expect(throws: AWSError(.refused, status: 409, code: "BucketAlreadyExists")) {
            try await fake.s3(ScriptedTransport(.s3Error(409, "BucketAlreadyExists")))
                .createBucket(deadline: fake.deadline())
        }
    }

    @Test func `deletes a bucket that is empty`() async throws {
        let transport = ScriptedTransport(UpstreamResponse(status: 204), .s3Error(409, "BucketNotEmpty"))
        try await fake.s3(transport).deleteBucket(deadline: fake.deadline())
        #expect(transport.requests.map(\.method) == ["DELETE"])
        await #expect(throws: AWSError(.refused, status: 409, code: "BucketNotEmpty")) {
            try await fake.s3(transport).deleteBucket(deadline: fake.deadline())
        }
    }

    @Test func `tells whose an object is, and takes no other's word for it`() async throws {
        func owner(_ listing: String) async throws -> (String?, String?) {
            let transport = ScriptedTransport(.xml(200, listing))
            let owner = try await fake.s3(transport).owner(ofKey: "a b", deadline: fake.deadline())
            return (owner, transport.requests.first?.url)
        }
        func listing(_ key: String, _ owner: String) -> String {
            "<ListBucketResult><Contents><Key>\(key)</Key>\(owner)</Contents></ListBucketResult>"
        }
        let (own, url) = try await owner(listing("a b", "<Owner><ID>7f</ID></Owner>"))
        #expect(own == "7f")
        #expect(
            url == "https://photos.s3.eu-west-1.amazonaws.com/?fetch-owner=true&list-type=2&max-keys=1&prefix=a%20b")
        #expect(try await owner(listing("a b", "")).0 == nil)
        #expect(try await owner(listing("a bc", "<Owner><ID>7f</ID></Owner>")).0 == nil)
        #expect(try await owner("<ListBucketResult/>").0 == nil)
        await #expect(throws: AWSError.self) { try await owner("<Other/>") }
        await #expect(throws: AWSError(.refused, status: 403, code: "AccessDenied")) {
            try await fake.s3(ScriptedTransport(.s3Error(403, "AccessDenied")))
                .owner(ofKey: "a", deadline: fake.deadline())
        }
    }
}
