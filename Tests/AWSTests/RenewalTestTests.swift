import AWS
import CloakroomCrypto
import HTTPValues
import Synchronization
import Testing

/// The object of the worker's own that is renewed when S3 refuses a key.
struct RenewalTestTests {
    private let world = TestWorld()

    private func test(
        _ settings: RenewalSettings = .init(), _ answer: @escaping @Sendable (UpstreamRequest) -> UpstreamResponse?
    ) async throws -> (fault: Fault?, requests: [UpstreamRequest]) {
        let store = StoreStandIn { request in
            if let answer = answer(request) { return answer }
            switch request.operation {
            case "get_object": return .s3Error(404, "NoSuchKey")
            case "copy_object": return .copied
            default: return UpstreamResponse(status: 200, fields: ["ETag": "\"e\""])
            }
        }
        let client = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), transport: store,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            renewal: settings, surroundings: world.surroundings)
        return (await client.testRenewal(under: "assets/", deadline: world.deadline()), store.requests)
    }

    @Test func `renews an object under the prefix, whatever its age`() async throws {
        let settings = RenewalSettings(
            encryption: .init(algorithm: "aws:kms", keyID: "k"), acl: "bucket-owner-full-control")
        let (fault, requests) = try await test(settings) { _ in nil }
        #expect(fault == nil)
        #expect(requests.map(\.operation) == ["get_object", "copy_object"])
        let copy = try #require(requests.last)
        #expect(copy.fields["x-amz-copy-source"] == "photos/assets/cloakroom-renewal-test")
        #expect(copy.fields["x-amz-copy-source-if-unmodified-since"] == nil)
        #expect(copy.fields["x-amz-storage-class"] == "STANDARD")
        #expect(copy.fields["x-amz-server-side-encryption-aws-kms-key-id"] == "k")
        #expect(copy.fields["x-amz-acl"] == "bucket-owner-full-control")
    }

    @Test(arguments: [200, 501, 403])
    func `stores it with a tag where there is none, as far as the store has tags`(tagged: Int) async throws {
        let isStored = StoreStandIn.Flag()
        let (fault, requests) = try await test { request in
            if request.operation == "copy_object" { return isStored.isSet ? nil : .s3Error(404, "NoSuchKey") }
            guard request.method == "PUT" else { return nil }
            if request.fields["x-amz-tagging"] != nil, tagged != 200 { return .s3Error(tagged, "NotImplemented") }
            isStored.set()
            return nil
        }
        #expect(fault?.status == (tagged == 403 ? 403 : nil))
        #expect(requests.count == [200: 4, 501: 5, 403: 3][tagged])
    }

    @Test(arguments: ["get_object", "copy_object"])
    func `passes on what is refused`(operation: String) async throws {
        let (fault, _) = try await test { request in
            request.operation == operation ? .s3Error(403, "AccessDenied") : nil
        }
        #expect(fault == Fault(.refused, status: 403, code: "AccessDenied"))
    }

    @Test func `replaces the metadata where a store copies nothing onto itself as it is`() async throws {
        let (fault, requests) = try await test { request in
            request.operation == "copy_object" && request.fields["x-amz-metadata-directive"] == "COPY"
                ? .selfCopyRefused : nil
        }
        #expect(fault == nil)
        #expect(requests.compactMap { $0.fields["x-amz-metadata-directive"] } == ["COPY", "REPLACE"])
    }
}
