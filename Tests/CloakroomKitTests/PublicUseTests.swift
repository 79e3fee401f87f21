import CloakroomKit
import Foundation
import Testing

/// Written as an app is, which sees nothing but what is public.
@Suite struct PublicUseTests {
    private struct OwnVendor: CredentialVendor {
        func vendCredentials() async throws -> VendedCredentials {
            VendedCredentials(
                accessKeyID: "ASIA", secretAccessKey: "s3cr3t", sessionToken: "t0k3n",
                expiration: Date().addingTimeInterval(3600), region: "eu-central-1", bucket: "photos")
        }
    }

    @Test func `an app may vend credentials of its own, and printed they show nothing`() async throws {
        let credentials = try await CredentialProvider(vendor: OwnVendor()).credentials()
        #expect(credentials.accessKeyID == "ASIA")
        #expect(credentials.revealSecretAccessKey() == "s3cr3t")
        #expect(credentials.revealSessionToken() == "t0k3n")
        var text = "\(credentials)"
        dump(credentials, to: &text)
        #expect(!text.contains("s3cr3t") && !text.contains("t0k3n"))
    }

    @Test func `a transport may log requests`() throws {
        let request = HTTPRequest(
            method: "PUT", url: try #require(URL(string: "https://s3.example/a%20b?X-Amz-Signature=s3cr3t#t0k3n")),
            fields: [("Authorization", "Bearer t0k3n")], body: .bytes(Data("hello".utf8)))
        #expect("\(request)" == "PUT https://s3.example/a%20b, 5 bytes")
        var text = ""
        dump(request, to: &text)
        debugPrint(request, to: &text)
        #expect(text.contains("Authorization") && !text.contains("s3cr3t") && !text.contains("t0k3n"))
    }

    @Test func `a client takes an address and a closure for tokens`() async throws {
        let client = CloakroomClient(endpoint: try #require(URL(string: "https://api.example"))) { "" }
        // Without a token nothing is sent.
        await #expect(throws: CloakroomError.self) { try await client.renewAsset(key: "k") }
    }
}
