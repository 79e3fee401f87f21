import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

/// Compared with the forms that botocore makes.
struct PostPolicyTests {
    struct Vectors: Decodable {
        struct Case: Decodable, Sendable, CustomTestStringConvertible {
            let name, region, bucket, key, content_type: String
            let maximum: Int
            let checksum, session_token, endpoint: String?
            let path_style: Bool
            let seconds: Int
            let url: String
            let fields: [String: String]

            var testDescription: String { name }
        }

        let access_key, secret_key: String
        let cases: [Case]

        static let all: Vectors = {
            let url = Bundle.module.url(forResource: "presigned-post", withExtension: "json", subdirectory: "Vectors")
            let data = url.flatMap { try? Data(contentsOf: $0) } ?? Data()
            return (try? JSONDecoder().decode(Vectors.self, from: data))
                ?? Vectors(access_key: "", secret_key: "", cases: [])
        }()
    }

    private let fake = FakeRuntime()

    private func post(
        _ vector: Vectors.Case, expiration: Date? = nil, seconds: Int? = nil
    ) async throws -> PresignedPost {
        let credentials = Credentials(
            accessKeyID: Vectors.all.access_key, secretAccessKey: Secret(Vectors.all.secret_key),
            sessionToken: vector.session_token.map { Secret($0) }, expiration: expiration)
        let client = S3Client(
            bucket: vector.bucket,
            endpoint: try .s3(
                region: vector.region, bucket: vector.bucket, pathStyle: vector.path_style ? true : nil,
                custom: vector.endpoint),
            transport: ScriptedTransport([]), credentials: CredentialSource(credentials),
            runtime: fake.runtime)
        return try await client.presignPost(
            key: vector.key,
            terms: PostTerms(
                contentType: vector.content_type, byteCounts: 1...vector.maximum, checksum: vector.checksum,
                lifetime: .seconds(seconds ?? vector.seconds)))
    }

    private func fields(_ post: PresignedPost) -> [String: String] {
        Dictionary(uniqueKeysWithValues: post.fields.map { ($0.name, $0.value.reveal()) })
    }

    private struct Policy: Decodable {
        let expiration: String
        let conditions: [Condition]

        init(base64 text: String?) throws {
            let data = try #require(text.flatMap { Data(base64Encoded: $0) })
            self = try JSONDecoder().decode(Policy.self, from: data)
        }
    }

    /// An exact one is an object of one member, a range is an array.
    private enum Condition: Decodable, Hashable {
        case exactly(String, String)
        case range(String, Int, Int)

        init(from decoder: any Decoder) throws {
            if var list = try? decoder.unkeyedContainer() {
                self = .range(
                    try list.decode(String.self), try list.decode(Int.self), try list.decode(Int.self))
                return
            }
            let members = try decoder.singleValueContainer().decode([String: String].self)
            let member = try #require(members.first)
            #expect(members.count == 1)
            self = .exactly(member.key, member.value)
        }
    }

    @Test func `there are vectors`() { #expect(Vectors.all.cases.count == 5) }

    @Test(arguments: Vectors.all.cases)
    func `is botocore's form, field by field`(vector: Vectors.Case) async throws {
        let post = try await post(vector)
        var ours = fields(post)
        var theirs = vector.fields
        #expect(post.url == vector.url)
        #expect(post.expiration == Date(timeIntervalSince1970: 1_795_183_200 + Double(vector.seconds)))
        let policy = ours.removeValue(forKey: "policy")
        let signature = ours.removeValue(forKey: "x-amz-signature")
        let (our, their) = (try Policy(base64: policy), try Policy(base64: theirs.removeValue(forKey: "policy")))
        // The same conditions, in whatever order; so the text differs, and with it the signature.
        #expect(our.expiration == their.expiration)
        #expect(our.conditions.count == their.conditions.count)
        #expect(Set(our.conditions) == Set(their.conditions))
        theirs["x-amz-signature"] = nil
        #expect(ours == theirs)
        #expect(signature == self.signature(of: try #require(policy), in: vector))
    }

    @Test(arguments: Vectors.all.cases)
    func `what the test takes for a signature is what botocore signs`(vector: Vectors.Case) throws {
        let policy = try #require(vector.fields["policy"])
        #expect(vector.fields["x-amz-signature"] == signature(of: policy, in: vector))
    }

    /// By the book, apart from the code under test (S3 API Reference, "Calculating a signature", of a POST policy).
    private func signature(of policy: String, in vector: Vectors.Case) -> String {
        var key = Array("AWS4\(Vectors.all.secret_key)".utf8)
        for part in ["20261120", vector.region, "s3", "aws4_request"] {
            key = HMACSHA256(key: key).authenticate(part.utf8)
        }
        return HMACSHA256(key: key).authenticate(policy.utf8).hexadecimal
    }

    @Test func `ends with the credentials it was signed with, and is none when they have ended`() async throws {
        let vector = try #require(Vectors.all.cases.first)
        let now = Date(timeIntervalSince1970: 1_795_183_200)
        let short = try await post(vector, expiration: now.addingTimeInterval(60.5))
        #expect(short.expiration == now.addingTimeInterval(60))
        #expect(try Policy(base64: fields(short)["policy"]).expiration == "2026-11-20T14:01:00Z")
        let long = try await post(vector, expiration: now.addingTimeInterval(86_400), seconds: 900)
        #expect(long.expiration == now.addingTimeInterval(900))
        await #expect(throws: AWSError(.noCredentials, code: "ExpiredCredentials")) {
            try await post(vector, expiration: now)
        }
    }

    @Test func `prints neither its policy nor its signature`() async throws {
        let post = try await post(try #require(Vectors.all.cases.first))
        let secrets = post.fields.map { $0.value.reveal() }
        let text = String(describing: post) + String(reflecting: post)
        #expect(secrets.allSatisfy { !text.contains($0) })
    }
}
