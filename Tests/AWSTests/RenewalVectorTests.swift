import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

/// What botocore sends for the same operations.
struct RenewalVector: Decodable, Sendable, CustomTestStringConvertible {
    struct Settings: Decodable, Sendable {
        let mode: String?
        let storageClass: String?
        let algorithm: String?
        let keyID: String?
        let bucketKey: Bool?
        let acl: String?
        let owner: String?
        let minimumAge: Int?
    }

    struct Request: Decodable, Sendable {
        let operation: String
        let method: String
        let url: String
        let headers: [[String]]
        let body: String
    }

    let name: String
    let bucket: String
    let key: String
    let endpoint: String?
    let settings: Settings
    /// What HEAD shows; none: there is no object, or it is not asked.
    let stored: [[String]]?
    let tags: [String: String]?
    let upload: String?
    let parts: Int?
    let refusesParts: Bool?
    let losesTags: Bool?
    let requests: [Request]

    var testDescription: String { name }

    private struct File: Decodable {
        let cases: [RenewalVector]
    }

    static let all: [RenewalVector] = {
        let url = Bundle.module.url(forResource: "renewal-requests", withExtension: "json", subdirectory: "Vectors")
        let data = url.flatMap { try? Data(contentsOf: $0) } ?? Data()
        return (try? JSONDecoder().decode(File.self, from: data))?.cases ?? []
    }()
}

extension RenewalSettings {
    fileprivate init(_ settings: RenewalVector.Settings) {
        let name = settings.storageClass ?? "STANDARD"
        self.init(
            mode: settings.mode.flatMap { Mode(rawValue: $0) } ?? .auto,
            storageClass: name == "preserve" ? .preserved : .named(name),
            encryption: settings.algorithm.map {
                Encryption(algorithm: $0, keyID: settings.keyID, usesBucketKey: settings.bucketKey)
            },
            acl: settings.acl, minimumAge: .seconds(settings.minimumAge ?? 86_400), expectedBucketOwner: settings.owner)
    }
}

struct RenewalVectorTests {
    /// What botocore sends and we do not, each with its reason; and what of ours has another value.
    private static func isDeliberate(_ field: String, _ operation: String) -> Bool {
        switch (field, operation) {
        // The transport's work.
        case ("content-length", _): true
        // We read one byte to learn a code, and check no sum of it.
        case ("x-amz-checksum-mode", "get_object"): true
        // The same document, but `<Value/>` where botocore writes `<Value />`.
        case ("x-amz-checksum-crc32", "put_object_tagging"), ("x-amz-content-sha256", "put_object_tagging"): true
        default: false
        }
    }

    private static func stored(_ vector: RenewalVector) -> UpstreamResponse {
        guard let stored = vector.stored else { return UpstreamResponse(status: 404) }
        return UpstreamResponse(status: 200, fields: HeaderFields(stored.map { .init(name: $0[0], value: $0[1]) }))
    }

    private static func tagging(_ tags: [String: String]) -> UpstreamResponse {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        }
        let set = tags.map { "<Tag><Key>\(escaped($0))</Key><Value>\(escaped($1))</Value></Tag>" }
        return .xml(200, "<Tagging><TagSet>\(set.joined())</TagSet></Tagging>")
    }

    private static func store(_ vector: RenewalVector) -> FakeStore {
        let upload = vector.upload ?? ""
        let copied = FakeStore.Flag()
        return FakeStore { request in
            switch request.operation {
            case "head_object": return stored(vector)
            case "get_object": return .s3Error(404, "NoSuchKey")
            case "get_object_tagging":
                return tagging(vector.losesTags == true && copied.isSet ? [:] : vector.tags ?? [:])
            case "create_multipart_upload":
                return .xml(
                    200, "<InitiateMultipartUploadResult><UploadId>\(upload)</UploadId></InitiateMultipartUploadResult>"
                )
            case "upload_part_copy":
                if vector.refusesParts == true { return .s3Error(403, "AccessDenied") }
                let number = request.partNumber ?? 0
                return .xml(200, "<CopyPartResult><ETag>&quot;p&lt;\(number)&gt;&quot;</ETag></CopyPartResult>")
            case "complete_multipart_upload":
                return .xml(
                    200, "\n  <CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
            case "copy_object":
                copied.set()
                return .copied
            default: return UpstreamResponse(status: 204)
            }
        }
    }

    private func sent(_ vector: RenewalVector) async throws -> [UpstreamRequest] {
        let fake = FakeRuntime()
        let store = Self.store(vector)
        let client = S3Client(
            bucket: vector.bucket,
            endpoint: try .s3(region: "eu-central-1", bucket: vector.bucket, custom: vector.endpoint),
            transport: store,
            credentials: CredentialSource(
                Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("token"))),
            renewal: RenewalSettings(vector.settings), runtime: fake.runtime)
        _ = await client.renew(key: vector.key, deadline: fake.deadline())
        await fake.settle()
        return store.requests
    }

    @Test func `the vectors are there`() { #expect(RenewalVector.all.count >= 40) }

    @Test(arguments: RenewalVector.all)
    func `sends what botocore sends, field by field`(vector: RenewalVector) async throws {
        let sent = try await sent(vector)
        for expected in vector.requests {
            let request = try #require(
                sent.first { $0.method == expected.method && $0.url == expected.url },
                "\(expected.operation) \(expected.url) among \(sent.map(\.url))")
            var ours = request.fields.map { [$0.name, $0.value] }
            ours.removeAll { $0[0] == "authorization" || Self.isDeliberate($0[0], expected.operation) }
            // botocore leaves the host to its transport.
            ours.removeAll { $0[0] == "host" }
            let theirs = expected.headers.filter { !Self.isDeliberate($0[0], expected.operation) }
            #expect(ours.sorted { $0[0] < $1[0] } == theirs.sorted { $0[0] < $1[0] })
            #expect(
                String(decoding: request.body, as: UTF8.self) == expected.body.replacing("<Value />", with: "<Value/>"))
            #expect(request.fields["host"] == request.origin.split(separator: "/").last.map(String.init))
        }
    }

    @Test func `copies in parts that make up the whole`() async throws {
        let vector = try #require(RenewalVector.all.first { $0.name == "in parts" })
        let parts = try await sent(vector).filter { $0.operation == "upload_part_copy" }
        #expect(parts.count == vector.parts)
        var next = 0
        for part in parts.sorted(by: { $0.partNumber ?? 0 < $1.partNumber ?? 0 }) {
            let range = try #require(part.fields["x-amz-copy-source-range"]?.wholeMatch(of: /bytes=(\d+)-(\d+)/))
            #expect(Int(range.1) == next)
            next = try #require(Int(range.2)) + 1
        }
        #expect(next == 6_000_000_001)
    }
}
