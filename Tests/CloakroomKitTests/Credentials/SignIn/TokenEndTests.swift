import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

/// The session token ends while the app has much to do.
@Suite struct TokenEndTests {
    private let fake = FakeRuntime()
    private let tokens = CountingTokens()

    /// Which tokens the worker accepts.
    private actor Accepted {
        private var tokens: Set<String> = ["t1"]
        private(set) var refusals = 0

        func accept(_ tokens: Set<String>) { self.tokens = tokens }

        func refuses(_ request: HTTPRequest) -> Bool {
            let field = request.fields.first { $0.name == "Authorization" }?.value ?? ""
            let isRefused = !tokens.contains(String(field.dropFirst("Bearer ".count)))
            if isRefused { refusals += 1 }
            return isRefused
        }
    }

    private static let refusal = ScriptedHTTP.Step.json(401, #"{"error":"Invalid auth token","code":"unauthorized"}"#)

    private static func vended(_ number: Int) -> ScriptedHTTP.Step {
        .json(
            200,
            #"""
            {"credentials":{"accessKeyId":"ASIA\#(number)","secretAccessKey":"s","sessionToken":"t",\#
            "expiration":"2026-11-20T15:00:00Z"},"region":"us-east-1","bucket":"bucket",\#
            "userId":"u_1","prefixes":{"photos":"photos/u_1/"}}
            """#)
    }

    @Test func `a renewal of ten batches goes on with a new token`() async throws {
        let server = TestServer()
        server.fail(.renewAssets, nth: 5, with: .tokenEnded)
        let assets = images(1000)
        for asset in assets { server.store(Data(), at: asset.url.lastPathComponent) }
        let manager = AssetRenewalManager(
            renewer: CloakroomClient.of(server), collector: AssetCollection(assets), store: InMemoryRenewalStore(),
            baseURLs: try AssetBaseURLs([#require(URL(string: "https://cdn.example.com"))]),
            runtime: server.runtime)
        let report = await manager.renewIfNeeded()
        #expect(report.renewed == 1000 && report.error == nil)
        let expected = Array(repeating: 200, count: 4) + [401] + Array(repeating: 200, count: 6)
        #expect(server.requests(.renewAssets).map(\.status) == expected)
    }

    @Test func `a hundred vends at once get one new token`() async throws {
        let accepted = Accepted()
        let gate = Gate()
        let http = ScriptedHTTP { request, number in
            if await accepted.refuses(request) { return .held(gate, Self.refusal) }
            return Self.vended(number)
        }
        await accepted.accept(["t2"])
        let client = try CloakroomClient.test(http, fake, tokens: tokens)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await client.vendCredentials().bucket } }
            await http.arrival(of: 100)
            await gate.open()
            for try await bucket in group { #expect(bucket == "bucket") }
        }
        #expect(await tokens.refused == ["t1"])
        #expect(await http.sent.count == 200)
    }

    @Test func `a successor that ended since is replaced, and a new one that is refused is the end`() async throws {
        let accepted = Accepted()
        let gate = Gate()
        let http = ScriptedHTTP { request, number in
            if await accepted.refuses(request) { return number == 0 ? .held(gate, Self.refusal) : Self.refusal }
            return Self.vended(number)
        }
        await accepted.accept(["t2"])
        let client = try CloakroomClient.test(http, fake, tokens: tokens)
        async let slow = client.vendCredentials().bucket
        await http.arrival(of: 1)
        _ = try await client.vendCredentials()
        await accepted.accept(["t3"])
        await gate.open()
        #expect(try await slow == "bucket")
        #expect(await tokens.refused == ["t1", "t2"])
        await accepted.accept([])
        let before = await http.sent.count
        await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
        #expect(await http.sent.count == before + 2)
    }

    @Test func `a backup of many photos goes on when its credentials end with the token`() async throws {
        let folder = try TemporaryFolder()
        for number in 0..<60 { try folder.write("\(number).jpg", "photo \(number)") }
        let server = TestServer()
        server.fail(.putObject, nth: 20, with: .credentialsEnded)
        server.fail(.vendCredentials, nth: 2, with: .tokenEnded)
        let report = await PhotoBackup(client: .of(server), layout: try PhotoLayout(userID: "u_1")).backUp(
            folder: folder.url)
        #expect(report.isComplete && report.backedUp == 60 && report.failures.isEmpty)
        #expect(server.requests(.vendCredentials).map(\.status) == [200, 401, 200])
        #expect(server.objects().count == 60)
        #expect(server.requests(.putObject).count { $0.status == 200 } == 60)
    }
}
