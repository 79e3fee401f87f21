import CloakroomAWS
import CloakroomCrypto
import CloakroomKitTestSupport
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
        let accepted = Accepted()
        let http = ScriptedHTTP { request, number in
            if number == 4 { await accepted.accept(["t2"]) }
            if await accepted.refuses(request) { return Self.refusal }
            guard case .bytes(let body) = request.body,
                let sent = try? JSONDecoder().decode([String: [String]].self, from: body), let keys = sent["assetKeys"]
            else { return .response(400) }
            let results = keys.map { #"{"key":"\#($0)","success":true}"# }.joined(separator: ",")
            return .json(200, #"{"renewed":\#(keys.count),"failed":0,"results":[\#(results)]}"#)
        }
        let manager = AssetRenewalManager(
            renewer: try CloakroomClient.test(http, fake, tokens: tokens), collector: AssetCollection(images(1000)),
            store: InMemoryRenewalStore(),
            baseURLs: try AssetBaseURLs([#require(URL(string: "https://cdn.example.com"))]),
            runtime: fake.runtime)
        let report = await manager.renewIfNeeded()
        #expect(report.renewed == 1000 && report.error == nil)
        #expect(await http.sent.count == 11)
        #expect(await tokens.refused == ["t1"])
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

    /// A worker, and S3 whose credentials end together with the token.
    private struct Servers: HTTPTransport {
        let worker: ScriptedHTTP
        let s3: FakeS3

        func send(
            _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
        ) async throws(HTTPTransportError) -> HTTPResponse {
            if request.url.host == "api.example" { return try await worker.send(request, progress: progress) }
            return try await s3.send(request, progress: progress)
        }
    }

    private actor Ended {
        private var puts = 0
        private var keys: Set<String> = ["ASIA0"]

        /// Whether S3 refuses; from the twentieth photo on the first credentials have ended.
        func refuses(_ request: HTTPRequest, _ accepted: Accepted) async -> Bool {
            if request.method == "PUT" { puts += 1 }
            if puts == 20 {
                keys = ["ASIA2"]
                await accepted.accept(["t2"])
            }
            let field = request.fields.first { $0.name.lowercased() == "authorization" }?.value ?? ""
            return !keys.contains { field.contains("Credential=\($0)/") }
        }
    }

    @Test func `a backup of many photos goes on when its credentials end with the token`() async throws {
        let folder = try TemporaryFolder()
        for number in 0..<60 { try folder.write("\(number).jpg", "photo \(number)") }
        let (accepted, ended) = (Accepted(), Ended())
        let worker = ScriptedHTTP { request, number in
            await accepted.refuses(request) ? Self.refusal : Self.vended(number)
        }
        let expired = Data("<Error><Code>ExpiredToken</Code><Message>m</Message></Error>".utf8)
        let s3 = FakeS3 { _, _, request in
            await ended.refuses(request, accepted) ? HTTPResponse(status: 400, fields: [], body: expired) : nil
        }
        let transport = Servers(worker: worker, s3: s3)
        let client = CloakroomClient(
            endpoint: try #require(URL(string: "https://api.example")), tokens: tokens, transport: transport,
            runtime: fake.runtime)
        let credentials = CredentialProvider(
            vendor: client, serverClock: client.serverClock, runtime: fake.runtime)
        let layout = try PhotoLayout(vended: try await credentials.credentials())
        fake.pass(.seconds(61))
        let backup = PhotoBackup(
            client: S3BackupClient(
                transport: transport, endpoint: URL(string: "http://127.0.0.1:8333"),
                journal: InMemoryMultipartJournal(), sizes: .init(), runtime: fake.runtime
            ) {
                let vended = try await credentials.credentials()
                return .init(bucket: vended.bucket, region: vended.region, source: credentials.source)
            }, layout: layout)
        let report = await backup.backUp(folder: folder.url)
        #expect(report.isComplete && report.backedUp == 60 && report.failures.isEmpty)
        #expect(await tokens.refused == ["t1"])
        #expect(await worker.sent.count == 3)
    }
}
