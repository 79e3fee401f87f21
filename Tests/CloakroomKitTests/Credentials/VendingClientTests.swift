import Foundation
import Testing

@testable import CloakroomKit

/// The provider over the client that apps give it.
@Suite struct VendingClientTests {
    /// The device's clock shows 14:00; the server's, and S3's, is nine hours ahead.
    private let fake = FakeRuntime()

    private func response(until expiration: String, at date: String) -> ScriptedHTTP.Step {
        .json(
            200,
            #"""
            {"credentials":{"accessKeyId":"ASIA0","secretAccessKey":"s","sessionToken":"t",\#
            "expiration":"\#(expiration)"},"region":"eu-central-1","bucket":"photos"}
            """#, [("Date", date)])
    }

    @Test func `a thousand callers send one request, and the server's clock is the one that counts`() async throws {
        let http = ScriptedHTTP(
            response(until: "2026-11-21T00:00:00Z", at: "Fri, 20 Nov 2026 23:00:00 GMT"),
            response(until: "2026-11-21T01:00:00Z", at: "Sat, 21 Nov 2026 00:00:00 GMT"))
        let client = try CloakroomClient.test(http, fake)
        let provider = CredentialProvider(
            vendor: client, serverClock: client.serverClock, runtime: fake.runtime)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await provider.credentials().accessKeyID } }
            for try await key in group { #expect(key == "ASIA0") }
        }
        #expect(await http.lines == ["POST https://api.example/api/v1/auth/sts-token"])
        #expect(abs(await provider.clockOffset / .seconds(1) - 32_400) <= 1)
        // By the device's own clock they would hold until midnight.
        fake.pass(.seconds(3600))
        #expect(try await provider.credentials().expiration == Date(timeIntervalSince1970: 1_795_222_800))
        #expect(await http.sent.count == 2)
    }
}
