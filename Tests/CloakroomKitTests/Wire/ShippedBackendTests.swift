import Foundation
import Testing

@testable import CloakroomKit

/// The kit takes the answers of the backends that are out there (Vectors/shipped).
@Suite struct ShippedBackendTests {
    private func client(
        _ status: Int, _ name: String, _ fields: [(name: String, value: String)] = [],
        tokens: any TokenProvider = CountingTokens()
    ) throws -> (CloakroomClient, ScriptedHTTP) {
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/shipped")
        let body = try Data(contentsOf: folder.appendingPathComponent("\(name).json"))
        let http = ScriptedHTTP(.response(status, fields, body))
        return (try CloakroomClient.test(http, header: .named("X-Convos-AuthToken"), tokens: tokens), http)
    }

    @Test func `a place for an upload without an end or fields`() async throws {
        let (client, http) = try client(200, "presigned")
        let target = try await client.requestUpload(contentType: "application/octet-stream", byteCount: nil)
        let key = "5c1fd4a2-0d5e-4b8f-9a5e-1f6f0a7d2b11.bin"
        #expect(target.objectKey == key)
        #expect(target.assetURL.absoluteString == "https://assets.example/\(key)")
        #expect(target.uploadURL.absoluteString.hasSuffix("X-Amz-Signature=00aa"))
        #expect(target.expiration == nil)
        #expect(target.fields == ["Content-Type": "application/octet-stream"])
        #expect(
            await http.lines == [
                "GET https://api.example/v2/attachments/presigned?contentType=application%2Foctet-stream"
                    + "&filename=ffffffffffffffff.bin"
            ])
    }

    @Test func `an asset without an address is none`() async throws {
        let (client, _) = try client(200, "presigned-without-asset")
        await #expect(throws: CloakroomError(.invalidResponse, "The response is not the worker's", status: 200)) {
            try await client.requestUpload(contentType: "image/jpeg", byteCount: 1)
        }
        let (other, _) = try self.client(200, "presigned-with-url")
        let target = try await other.requestUpload(contentType: "image/jpeg", byteCount: 1)
        #expect(target.assetURL.absoluteString == "https://assets.example/a.bin")
    }

    @Test func `a batch of renewals`() async throws {
        let (client, _) = try client(200, "renew-batch")
        let keys = ["abc123.bin", "def456.bin", "ghi789.bin", "../x"]
        let outcomes: [RenewalResult.Outcome] = [
            .renewed(expiration: nil), .renewed(expiration: nil), .notFound, .refused(reason: "invalid_key"),
        ]
        #expect(
            try await client.renewAssets(keys: keys)
                == zip(keys, outcomes).map { RenewalResult(key: $0, outcome: $1) })
    }

    @Test func `credentials whose end has milliseconds`() async throws {
        let (client, _) = try client(200, "sts-token")
        #expect(try await client.vendCredentials().expiration == Date(timeIntervalSince1970: 1_795_186_800))
    }

    @Test func `errors without codes`() async throws {
        let cases: [(Int, String, CloakroomError.Code, String)] = [
            (429, "too-many", .tooManyRequests, "Too many renewal requests"),
            (403, "disabled-device", .forbidden, "Device is disabled"),
        ]
        for (status, name, code, sentence) in cases {
            let (client, _) = try client(status, name, [("Retry-After", "3600"), ("X-RateLimit-Limit", "10")])
            await #expect(
                throws: CloakroomError(code, sentence, status: status, retryAfter: .seconds(3600))
            ) { try await client.renewAssets(keys: ["a"]) }
        }
    }

    @Test func `a missing token requests another one`() async throws {
        let tokens = CountingTokens(isStubborn: true)
        let (client, http) = try client(401, "missing-token", tokens: tokens)
        await #expect(throws: CloakroomError(.unauthorized, "Missing auth token", status: 401)) {
            try await client.renewAssets(keys: ["a"])
        }
        #expect(await tokens.calls == 2)
        #expect(await http.sent.map { $0["X-Convos-AuthToken"] } == ["t1"])
    }
}
