import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct PresignTests {
    private let fake = FakeRuntime()

    private func upload(
        _ terms: UploadTerms, expiration: Date? = nil, at store: ObjectStore = .aws
    ) async throws -> PresignedUpload {
        let client = S3Client(
            bucket: "photos", endpoint: try .s3(region: "eu-west-1", bucket: "photos"), store: store,
            transport: ScriptedTransport([]),
            credentials: CredentialSource(
                Credentials(
                    accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("to/ken"),
                    expiration: expiration)), runtime: fake.runtime)
        let object = try #require(ObjectAddress(key: "a b.bin"))
        return try await client.presignUpload(object, terms: terms)
    }

    @Test func `binds type, length, checksum and that nothing is overwritten`() async throws {
        let upload = try await upload(
            UploadTerms(
                contentType: "image/jpeg", byteCount: 12345,
                checksum: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", lifetime: .seconds(900)))
        #expect(
            upload.fields == [
                "content-type": "image/jpeg", "content-length": "12345",
                "x-amz-checksum-sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            ])
        #expect(upload.expiration == Date(timeIntervalSince1970: 1_795_184_100))
        let url = upload.url.reveal()
        let prefix =
            "https://photos.s3.eu-west-1.amazonaws.com/a%20b.bin?If-None-Match=%2A"
            + "&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261120%2Feu-west-1%2Fs3%2Faws4_request"
            + "&X-Amz-Date=20261120T140000Z&X-Amz-Expires=900&X-Amz-Security-Token=to%2Fken"
            + "&X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bx-amz-checksum-sha256&X-Amz-Signature="
        #expect(url.hasPrefix(prefix))
        #expect(url.utf8.count == prefix.utf8.count + 64)
        #expect("\(upload)".contains("Signature") == false, "it prints no signature")
    }

    @Test func `binds no more than it is told to`() async throws {
        let upload = try await upload(
            UploadTerms(contentType: "image/png", createsOnly: false, lifetime: .seconds(60)))
        #expect(upload.fields == ["content-type": "image/png"])
        #expect(upload.url.reveal().contains("If-None-Match") == false)
        #expect(upload.url.reveal().contains("SignedHeaders=content-type%3Bhost&"))
    }

    @Test func `at Ceph it signs as absent what that would heed unsigned, but for what is sent`() async throws {
        var terms = UploadTerms(contentType: "image/png", createsOnly: false, lifetime: .seconds(60))
        terms.otherFields = ["x-amz-tagging": "a=b"]
        let upload = try await upload(terms, at: .ceph)
        #expect(upload.fields == ["content-type": "image/png", "x-amz-tagging": "a=b"])
        let signed = try #require(upload.url.reveal().firstMatch(of: /SignedHeaders=([^&]*)/)).1.split(separator: "%3B")
        #expect(signed == signed.sorted() && Set(signed).count == signed.count)
        #expect(
            Set(signed).isSuperset(of: [
                "content-type", "host", "x-amz-acl", "x-amz-copy-source", "x-amz-grant-read", "x-amz-tagging",
            ]))
    }

    @Test func `ends with the credentials it was signed with`() async throws {
        let end = Date(timeIntervalSince1970: 1_795_183_260)
        let terms = UploadTerms(contentType: "image/png", lifetime: .seconds(900))
        let upload = try await upload(terms, expiration: end)
        #expect(upload.expiration == end)
        #expect(upload.url.reveal().contains("&X-Amz-Expires=60&"))
        await #expect(throws: AWSError(.noCredentials, code: "ExpiredCredentials")) {
            try await self.upload(terms, expiration: end.addingTimeInterval(-60))
        }
    }
}
