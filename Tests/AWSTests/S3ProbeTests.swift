import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct S3ProbeTests {
    private let fake = FakeRuntime()

    private func ask(
        _ probe: S3Probe, _ answer: UpstreamResponse, at endpoint: Endpoint? = nil
    ) async throws -> (UpstreamRequest?, Result<[String], AWSError>) {
        let transport = ScriptedTransport(answer)
        let client = S3Client(
            bucket: "photos", endpoint: try endpoint ?? Self.bucket(), transport: transport,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            runtime: fake.runtime)
        do throws(AWSError) {
            let names = try await client.send(probe, deadline: fake.deadline())
            return (transport.requests.first, .success(names))
        } catch {
            return (transport.requests.first, .failure(error))
        }
    }

    private static func bucket() throws -> Endpoint { try .s3(region: "eu-west-1", bucket: "photos") }

    @Test func `could do no harm if they were allowed`() async throws {
        let object = try #require(ObjectAddress(key: "a/b"))
        let (delete, _) = try await ask(.delete(object), .xml(204, ""))
        #expect(delete?.method == "DELETE" && delete?.target == "/a/b")
        // With an entity tag a refusal may be for want of s3:GetObject.
        #expect(delete?.fields["if-match"] == "*")
        let (policy, _) = try await ask(.putPolicy, .xml(204, ""))
        #expect(policy?.method == "PUT" && policy?.target == "/?policy")
        #expect(policy.map { String(decoding: $0.body, as: UTF8.self) } == "no policy")
    }

    /// Nothing is stored below an upload that is not there, and the object is not there either.
    @Test func `of parts name an upload that no store gave`() async throws {
        let object = try #require(ObjectAddress(key: "a/b"))
        let missing = "uploadId=cloakroom-doctor-missing"
        for (probe, method, target) in [
            (S3Probe.read(object), "GET", "/a/b"), (.uploadPart(object), "PUT", "/a/b?partNumber=1&\(missing)"),
            (.listParts(object), "GET", "/a/b?\(missing)"), (.abortUpload(object), "DELETE", "/a/b?\(missing)"),
        ] {
            let (request, _) = try await ask(probe, .xml(404, "<Error><Code>NoSuchUpload</Code></Error>"))
            #expect(request?.method == method && request?.target == target && request?.body.isEmpty == true)
        }
    }

    @Test func `tell a refusal from an answer`() async throws {
        let (_, denied) = try await ask(.putPolicy, .xml(403, "<Error><Code>AccessDenied</Code></Error>"))
        #expect(denied == .failure(AWSError(.refused, status: 403, code: "AccessDenied")))
        let (_, read) = try await ask(.putPolicy, .xml(400, "<Error><Code>MalformedPolicy</Code></Error>"))
        #expect(read == .failure(AWSError(.refused, status: 400, code: "MalformedPolicy")))
    }

    @Test func `names the buckets of the service`() async throws {
        let body =
            "<ListAllMyBucketsResult><Buckets><Bucket><Name>a</Name></Bucket><Bucket><Name>b</Name></Bucket></Buckets>"
            + "</ListAllMyBucketsResult>"
        let service = try Self.bucket().withoutBucket("photos")
        let (request, names) = try await ask(.listBuckets, .xml(200, body), at: service)
        #expect(request?.url == "https://s3.eu-west-1.amazonaws.com/")
        #expect(names == .success(["a", "b"]))
    }

    @Test(arguments: [
        ("http://127.0.0.1:8333", "http://127.0.0.1:8333"), ("https://store.example/s3", "https://store.example/s3"),
    ])
    func `finds the service of a bucket`(custom: String, expected: String) throws {
        for style in [true, false] {
            let bucket = try Endpoint.s3(region: "r", bucket: "photos", pathStyle: style, custom: custom)
            #expect(bucket.url != expected)
            #expect(bucket.withoutBucket("photos").url == expected)
        }
    }
}
