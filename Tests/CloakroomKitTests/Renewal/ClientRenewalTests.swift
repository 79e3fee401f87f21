import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ClientRenewalTests {
    private func renewed(_ keys: [String], _ response: String, status: Int = 200) async throws -> [RenewalResult] {
        try await CloakroomClient.test(ScriptedHTTP(.json(status, response))).renewAssets(keys: keys)
    }

    private func results(_ results: String) -> String { #"{"renewed":0,"failed":0,"results":[\#(results)]}"# }

    @Test func `sends the keys as they are, and returns what the server said of each`() async throws {
        let http = ScriptedHTTP(
            .json(
                200,
                results(
                    #"{"key":"a/b.bin","success":true,"expiresAt":"2026-12-20T00:00:00Z"},"#
                        + #"{"key":"b.bin","success":true},"#
                        + #"{"key":"c.bin","success":false,"error":"not_found"},"#
                        + #"{"key":"d.bin","success":false,"error":"archived"},"#
                        + #"{"key":"e.bin","success":false,"error":"invalid_key"},"#
                        + #"{"key":"f.bin","success":false,"error":"forbidden"},"#
                        + #"{"key":"g.bin","success":false,"error":"internal_error"},"#
                        + #"{"key":"h.bin","success":false,"error":"struck_by_lightning"},"#
                        + #"{"key":"i.bin","success":false}"#)))
        let keys = ["a/b.bin"] + "bcdefghij".map { "\($0).bin" }
        let outcomes: [RenewalResult.Outcome] = [
            .renewed(expiration: Date(timeIntervalSince1970: 1_797_724_800)), .renewed(expiration: nil), .notFound,
            .refused(reason: "archived"), .refused(reason: "invalid_key"), .refused(reason: "forbidden"),
            .failed(reason: "internal_error"), .failed(reason: "internal_error"), .failed(reason: "internal_error"),
        ]
        #expect(
            try await CloakroomClient.test(http).renewAssets(keys: keys)
                == zip(keys, outcomes).map { RenewalResult(key: $0, outcome: $1) })
        #expect(await http.lines == ["POST https://api.example/v2/assets/renew-batch"])
        #expect(
            await http.sent[0].text
                == #"{"assetKeys":["a/b.bin",\#("bcdefghij".map { "\"\($0).bin\"" }.joined(separator: ","))]}"#)
    }

    @Test func `keys are matched byte for byte`() async throws {
        let composed = "\u{E9}.bin"
        let decomposed = "e\u{301}.bin"
        #expect(composed == decomposed)
        let answered = try await renewed(
            [composed, "x"],
            results(#"{"key":"\#(decomposed)","success":false,"error":"not_found"},{"key":"X","success":true}"#))
        #expect(answered == [])
    }

    @Test func `escapes are spelling, not another key`() async throws {
        let answered = try await renewed(
            ["a/é\n"], results(#"{"key":"a\/\u00e9\n","success":false,"error":"not_found"}"#))
        #expect(answered == [RenewalResult(key: "a/é\n", outcome: .notFound)])
    }

    @Test func `a key that was requested twice has one result`() async throws {
        let answered = try await renewed(
            ["a", "b", "a"],
            results(
                #"{"key":"a","success":true},{"key":"b","success":true},"#
                    + #"{"key":"a","success":true,"expiresAt":"2026-12-20T00:00:00Z"}"#))
        #expect(answered.map(\.key) == ["a", "b"])
        // Renewed one after the other, for different times: no contradiction.
        for result in answered { if case .renewed = result.outcome {} else { Issue.record("\(result)") } }
    }

    @Test(arguments: [
        #"{"key":"a","success":false,"error":"not_found"},{"key":"a","success":true}"#,
        #"{"key":"a","success":true},{"key":"a","success":false,"error":"not_found"}"#,
        #"{"key":"a","success":true,"error":"not_found"}"#,
    ])
    func `results that contradict each other count as none`(response: String) async throws {
        #expect(
            try await renewed(["a"], results(response))
                == [RenewalResult(key: "a", outcome: .failed(reason: "contradiction"))])
    }

    @Test(arguments: [
        (201, #"{"renewed":0,"failed":1,"results":[{"key":"a","success":false,"error":"not_found"}]}"#),
        (200, #"{"renewed":0,"failed":1,"results":[{"key":"a","success":false,"error":"not_found"}]"#),
        (200, #"{"renewed":0,"failed":1,"results":[{"key":"a","error":"not_found"}]}"#),
        (200, #"{"renewed":0,"failed":1,"results":[{"key":"a","success":false,"error":404}]}"#),
        (200, #"{"key":"a","success":false,"error":"not_found"}"#), (200, #"{"error":"not_found"}"#),
        (404, #"{"error":"not_found","code":"not_found"}"#),
        (404, #"{"renewed":0,"failed":1,"results":[{"key":"a","success":false,"error":"not_found"}]}"#),
    ])
    func `a response that is not whole says of no key that it is gone`(status: Int, response: String) async throws {
        await #expect(throws: CloakroomError.self) { try await renewed(["a"], response, status: status) }
    }

    @Test(arguments: [0, 101])
    func `nobody is asked about no key or too many`(count: Int) async throws {
        let client = try CloakroomClient.test(ScriptedHTTP())
        await #expect(throws: CloakroomError(.invalidRequest, "A renewal is of 1 to 100 keys")) {
            try await client.renewAssets(keys: Array(repeating: "a", count: count))
        }
    }

    @Test func `renews one key`() async throws {
        let http = ScriptedHTTP(
            .json(200, #"{"key":"a","success":false,"error":"not_found"}"#), .json(200, #"{"key":"b","success":true}"#))
        let client = try CloakroomClient.test(http)
        #expect(try await client.renewAsset(key: "a") == RenewalResult(key: "a", outcome: .notFound))
        await #expect(throws: CloakroomError(.invalidResponse, "The response is about another key", status: 200)) {
            try await client.renewAsset(key: "a")
        }
        #expect(await http.lines.first == "PUT https://api.example/v2/assets/renew")
        #expect(await http.sent[0].text == #"{"assetKey":"a"}"#)
    }
}
