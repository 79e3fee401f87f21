import CloakroomAWS
import CloakroomCrypto
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PresignedURLTests {
    private static let md5 = "0123456789abcdef0123456789abcdef"
    private let fake = FakeRuntime()

    /// - Parameter expiration: of the credentials; `nil`: in an hour.
    private func client(
        expiration: Date? = nil, serverAhead: Duration = .zero, http: ScriptedHTTP = ScriptedHTTP()
    ) -> S3BackupClient {
        let end = expiration ?? fake.time(in: .seconds(3600))
        return S3BackupClient(
            transport: http, endpoint: nil, journal: InMemoryMultipartJournal(), sizes: .init(),
            runtime: fake.runtime, serverOffset: { serverAhead }
        ) {
            .init(
                bucket: "photos", region: "eu-west-1",
                source: CredentialSource(
                    Credentials(
                        accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("to/ken"),
                        expiration: end)))
        }
    }

    private func urls(_ client: S3BackupClient) throws -> PhotoURLs {
        PhotoURLs(client: client, layout: try PhotoLayout(userID: "u_1"))
    }

    @Test func `is signed without a request, and says when it ends`() async throws {
        let http = ScriptedHTTP()
        let urls = try urls(client(http: http))
        let found = try await urls.url(forPhoto: Self.md5, contentType: "image/jpeg; q=1")
        let prefix =
            "https://photos.s3.eu-west-1.amazonaws.com/photos/u_1/\(Self.md5).dat?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            + "&X-Amz-Credential=AKID%2F20261120%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261120T140000Z"
            + "&X-Amz-Expires=900&X-Amz-Security-Token=to%2Fken&X-Amz-SignedHeaders=host"
            + "&response-content-type=image%2Fjpeg%3B%20q%3D1&X-Amz-Signature="
        #expect(found.url.absoluteString.hasPrefix(prefix))
        #expect(found.url.absoluteString.utf8.count == prefix.utf8.count + 64)
        #expect(found.expiration == fake.time(in: .seconds(900)))
        #expect(await http.sent.isEmpty)
        let thumbnail = try await urls.url(forThumbnail: Self.md5)
        #expect(thumbnail.key == "thumbnails/u_1/\(Self.md5).jpg")
        #expect(!thumbnail.url.absoluteString.contains("response-content-type"))
    }

    @Test func `ends no later than the credentials, by the server's clock`() async throws {
        let client = client(expiration: fake.time(in: .seconds(700)), serverAhead: .seconds(400))
        let found = try await client.presignedURL(for: "k", expiresIn: .seconds(900))
        #expect(found.expiration == fake.time(in: .seconds(700)))
        #expect(found.url.absoluteString.contains("X-Amz-Date=20261120T140640Z&X-Amz-Expires=300&"))
    }

    @Test func `a clock that S3 itself has corrected goes before the server's`() async throws {
        let http = ScriptedHTTP { request, number in
            number == 0
                ? .response(
                    403, [("Date", "Fri, 20 Nov 2026 15:00:00 GMT")],
                    Data("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
                : .response(
                    200, [("ETag", "\"a\""), ("Content-Length", "1"), ("Date", "Fri, 20 Nov 2026 15:00:00 GMT")])
        }
        let client = client(expiration: fake.time(in: .seconds(7200)), serverAhead: .seconds(400), http: http)
        _ = try await client.head("k")
        #expect(try await client.presignedURL(for: "k").url.absoluteString.contains("X-Amz-Date=20261120T150000Z&"))
    }

    @Test(arguments: ["photos/u_10/a.dat", "photos/u_1/", "photos/u_2/a.dat", "users/u_1/profile.json2", "", "a"])
    func `another user's key is not signed for`(key: String) async throws {
        let urls = try urls(client())
        let error = await #expect(throws: CloakroomError.self) { try await urls.url(forKey: key) }
        #expect(error?.code == .invalidRequest)
    }

    @Test(arguments: ["catalogs/u_1/2026.json", "metadata/u_1/a", "users/u_1/profile.json"])
    func `any key of the user's layout is signed for`(key: String) async throws {
        #expect(try await urls(client()).url(forKey: key).key == key)
    }

    @Test func `a lifetime or a type that S3 would refuse is refused`() async throws {
        let client = client()
        for lifetime in [Duration.zero, .milliseconds(999), .seconds(604_801), .seconds(-1), .seconds(1 << 60)] {
            let error = await #expect(throws: CloakroomError.self) {
                try await client.presignedURL(for: "k", expiresIn: lifetime)
            }
            #expect(error?.code == .invalidRequest)
        }
        for type in ["", "image/jpeg\r\nX: y", "image/é", String(repeating: "a", count: 256)] {
            let error = await #expect(throws: CloakroomError.self) {
                try await client.presignedURL(for: "k", responseContentType: type)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test func `its description has no secret`() async throws {
        let found = try await client().presignedURL(for: "k")
        var dumped = ""
        dump(found, to: &dumped)
        for text in ["\(found)", String(reflecting: found), dumped, "\(Optional(found) as Any)"] {
            #expect(!text.contains("Signature") && !text.contains("http"), "\(text)")
        }
    }
}
