#if os(Linux)
    import CloakroomKit
    import CloakroomCurlTransport
    import Foundation
    import CloakroomTestSupport
    import Testing

    /// Whom the transport over libcurl trusts.
    @Suite(.timeLimit(.minutes(1))) struct CurlTransportTLSTests {
        private func send(to server: TLSServer, trusting file: String?) async throws -> Int {
            try await CurlTransport(certificateAuthorities: file).send(.get(server.url)).status
        }

        @Test func `takes a certificate of an authority that it trusts, and no other`() async throws {
            let server = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
            let other = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
            #expect(try await send(to: server, trusting: server.certificate) == 200)
            for file in [nil, other.certificate, "/nowhere.pem"] {
                await #expect(throws: HTTPTransportError.untrusted) { try await send(to: server, trusting: file) }
            }
        }

        @Test(arguments: [("DNS:s3.amazonaws.com,IP:127.0.0.2", 1), ("IP:127.0.0.1", -1)])
        func `takes no certificate for another host, and none that has expired`(name: String, days: Int) async throws {
            let server = try await onThread { try TLSServer(name: name, days: days) }
            await #expect(throws: HTTPTransportError.untrusted) {
                try await send(to: server, trusting: server.certificate)
            }
        }

        @Test func `a refused certificate is untrusted in the kit's words`() async throws {
            let server = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
            let client = CloakroomClient(
                endpoint: try #require(URL(string: server.url)), transport: CurlTransport()
            ) { "token" }
            let error = await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
            #expect(error?.code == .untrusted)
        }
    }
#endif
