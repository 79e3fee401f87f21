import CloakroomAWS
import CloakroomHTTP
import Synchronization
import Testing

/// The object of the worker's own that is renewed when S3 refuses a key.
struct RenewalTestTests {
    private let fake = FakeRuntime()

    private func test(
        _ settings: RenewalSettings = .init(), _ answer: @escaping @Sendable (UpstreamRequest) -> UpstreamResponse?
    ) async throws -> (result: RenewalTest, requests: [UpstreamRequest]) {
        let store = FakeStore { request in
            if let answer = answer(request) { return answer }
            switch request.operation {
            case "get_object": return .s3Error(404, "NoSuchKey")
            case "copy_object": return .copied
            default: return UpstreamResponse(status: 200, fields: ["ETag": "\"e\""])
            }
        }
        let client = try fake.s3(store, renewal: settings)
        return (await client.testRenewal(under: "assets/", deadline: fake.deadline()), store.requests)
    }

    @Test func `renews an object under the prefix, whatever its age`() async throws {
        let settings = RenewalSettings(
            encryption: .init(algorithm: "aws:kms", keyID: "k"), acl: "bucket-owner-full-control")
        let (result, requests) = try await test(settings) { _ in nil }
        #expect(result == .renewed(kmsKey: nil))
        #expect(requests.map(\.operation) == ["get_object", "head_object", "copy_object", "head_object"])
        let copy = requests[2]
        #expect(copy.fields["x-amz-copy-source"] == "photos/assets/cloakroom-renewal-test")
        #expect(copy.fields["x-amz-copy-source-if-unmodified-since"] == nil)
        #expect(copy.fields["x-amz-storage-class"] == "STANDARD")
        #expect(copy.fields["x-amz-server-side-encryption-aws-kms-key-id"] == "k")
        #expect(copy.fields["x-amz-acl"] == "bucket-owner-full-control")
    }

    @Test(arguments: [200, 501, 403])
    func `stores it with a tag where there is none, as far as the store has tags`(tagged: Int) async throws {
        let isStored = FakeStore.Flag()
        let (result, requests) = try await test { request in
            if request.operation == "copy_object" { return isStored.isSet ? nil : .s3Error(404, "NoSuchKey") }
            guard request.method == "PUT" else { return nil }
            if request.fields["x-amz-tagging"] != nil, tagged != 200 { return .s3Error(tagged, "NotImplemented") }
            isStored.set()
            return nil
        }
        let refused = AWSError(.refused, status: 403, code: "NotImplemented")
        #expect(result == (tagged == 403 ? .failed(refused) : .renewed(kmsKey: nil)))
        #expect(requests.count == [200: 7, 501: 8, 403: 4][tagged])
    }

    @Test(arguments: ["get_object", "copy_object"])
    func `passes on what is refused`(operation: String) async throws {
        let (result, _) = try await test { request in
            request.operation == operation ? .s3Error(403, "AccessDenied") : nil
        }
        #expect(result == .failed(AWSError(.refused, status: 403, code: "AccessDenied")))
    }

    @Test func `replaces the metadata where a store copies nothing onto itself as it is`() async throws {
        let (result, requests) = try await test { request in
            request.operation == "copy_object" && request.fields["x-amz-metadata-directive"] == "COPY"
                ? .selfCopyRefused : nil
        }
        #expect(result == .renewed(kmsKey: nil))
        #expect(requests.compactMap { $0.fields["x-amz-metadata-directive"] } == ["COPY", "REPLACE"])
    }

    /// The copy is encrypted as the bucket says now, whatever the object was under.
    @Test(
        arguments: [("a", "a", "a"), ("a", "b", nil), ("a", nil, nil), (nil, "b", nil), (nil, nil, nil)]
            as [(String?, String?, String?)])
    func `shows the KMS key that object and copy are under`(before: String?, after: String?, shown: String?)
        async throws
    {
        let isCopied = FakeStore.Flag()
        let (result, _) = try await test { request in
            if request.operation == "copy_object" { isCopied.set() }
            guard request.operation == "head_object" else { return nil }
            var answer = UpstreamResponse(status: 200, fields: ["ETag": "\"e\""])
            guard let key = isCopied.isSet ? after : before else { return answer }
            answer.fields.add("x-amz-server-side-encryption", "aws:kms")
            answer.fields.add("x-amz-server-side-encryption-aws-kms-key-id", key)
            return answer
        }
        #expect(result == .renewed(kmsKey: shown))
    }

    @Test(arguments: [403, 404])
    func `shows none where HEAD is refused`(status: Int) async throws {
        let (result, _) = try await test { request in
            request.operation == "head_object" ? UpstreamResponse(status: status) : nil
        }
        #expect(result == .renewed(kmsKey: nil))
    }
}
