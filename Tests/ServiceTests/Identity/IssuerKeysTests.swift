import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomJSON
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

/// FAULTS.md row 21: the key set down, slow, rotated, with duplicate kids; a flood of unknown kids.
@Suite(.onLoop)
struct IssuerKeysTests {
    private let time = TestTime()

    /// What the issuer answers now.
    private final class Source: Sendable {
        private let answer: Mutex<Result<UpstreamResponse, TransportError>>
        init(_ answer: Result<UpstreamResponse, TransportError>) { self.answer = Mutex(answer) }
        var now: Result<UpstreamResponse, TransportError> {
            get { answer.withLock { $0 } }
            set { answer.withLock { $0 = newValue } }
        }
    }

    private func transport(_ source: Source) -> ScriptedTransport {
        ScriptedTransport { _ throws(TransportError) in try source.now.get() }
    }

    @LoopActor private func keys(
        _ transport: ScriptedTransport, url: String? = TestIssuer.keysURL,
        onFetch: @escaping @LoopActor @Sendable (KeyFetchError?) -> Void = { _ in }
    ) -> IssuerKeys {
        IssuerKeys(
            remote: .init(
                issuer: TestIssuer.name, url: url, fetcher: KeyFetcher(transport: transport, timeout: .seconds(3)),
                runtime: time.runtime, onFetch: onFetch))
    }

    private func keySet(_ issuers: TestIssuer..., age: Int = 900) -> Result<UpstreamResponse, TransportError> {
        .success(
            UpstreamResponse(
                status: 200, fields: ["Cache-Control": "max-age=\(age)"], body: Array(TestIssuer.keySet(issuers).utf8)))
    }

    @Test @LoopActor func `everyone who waits for the first keys waits for one fetch`() async throws {
        let transport = transport(Source(keySet(try TestIssuer(0))))
        let keys = keys(transport)
        #expect(!keys.canRefetch, "nobody's request starts the first fetch")
        let first = LoopActor.spawn { await keys.refresh() }
        try await LoopActor.sleep(for: .zero)
        for task in (0..<100).map({ _ in LoopActor.spawn { await keys.refetch() } }) { await task.value }
        await first.value
        #expect(keys.keys?.keys.map(\.keyID) == ["key-0"])
        #expect(transport.requests.map(\.url) == [TestIssuer.keysURL])
    }

    @Test @LoopActor func `a flood of unknown kids costs one fetch in thirty seconds`() async throws {
        let source = Source(keySet(try TestIssuer(0)))
        let transport = transport(source)
        let keys = keys(transport)
        await keys.refresh()
        for second in 1...90 {
            time.pass(.seconds(1))
            for task in (0..<20).map({ _ in LoopActor.spawn { await keys.refetch() } }) { await task.value }
            #expect(transport.requests.count == 1 + second / 30)
        }
        // A source that is away is asked no oftener.
        source.now = .failure(.unreachable)
        for _ in 1...60 {
            time.pass(.seconds(1))
            await keys.refetch()
        }
        #expect(transport.requests.count == 6)
    }

    @Test @LoopActor func `takes a rotated set, and knows that it is another`() async throws {
        let source = Source(keySet(try TestIssuer(0)))
        let keys = keys(transport(source))
        await keys.refresh()
        let generation = keys.generation
        await keys.refresh()
        #expect(keys.generation == generation)
        source.now = keySet(try TestIssuer(0), try TestIssuer(1))
        await keys.refresh()
        #expect(keys.keys?.keys.map(\.keyID) == ["key-0", "key-1"])
        #expect(keys.generation != generation)
    }

    @Test @LoopActor func `keeps the last good keys through everything that is none`() async throws {
        let good = keySet(try TestIssuer(0))
        let source = Source(good)
        var outcomes: [KeyFetchError?] = []
        let keys = keys(transport(source)) { outcomes.append($0) }
        await keys.refresh()
        let generation = keys.generation
        let many = TestIssuer.keySet(Array(repeating: try TestIssuer(0).jwk, count: 65))
        let bad: [(Result<UpstreamResponse, TransportError>, KeyFetchError)] = [
            (.failure(.unreachable), .unreachable), (.failure(.untrusted), .untrusted), (.failure(.timeout), .timeout),
            (.failure(.interrupted), .interrupted), (.failure(.tooLarge), .tooLarge),
            (.success(.text(500, "")), .status), (.success(.text(404, "{}")), .status),
            (.success(UpstreamResponse(status: 302, fields: ["Location": TestIssuer.keysURL])), .status),
            (.success(.text(200, "")), .unusable), (.success(.text(200, "<html>")), .unusable),
            (.success(.text(200, "{}")), .unusable), (.success(.text(200, #"{"keys":[]}"#)), .unusable),
            (.success(.text(200, #"{"keys":7}"#)), .unusable), (.success(.text(200, #"{"keys":[7]}"#)), .unusable),
            (.success(.text(200, #"{"keys":[],"keys":[]}"#)), .unusable),
            (.success(.text(200, #"{"keys":[{"kty":"oct","k":"\#(String(repeating: "A", count: 86))"}]}"#)), .unusable),
            (.success(.text(200, many)), .unusable),
            (.success(.text(200, String(repeating: " ", count: KeyFetcher.maximumBytes + 1))), .tooLarge),
        ]
        for (answer, failure) in bad {
            source.now = answer
            await keys.refresh()
            #expect(outcomes.last == failure, "\(answer)")
            #expect(keys.keys?.keys.map(\.keyID) == ["key-0"] && keys.generation == generation)
        }
        source.now = good
        await keys.refresh()
        #expect(outcomes.last == .some(nil) && keys.generation == generation)
    }

    @Test @LoopActor func `refreshes ahead of the end, and sooner after failures`() async throws {
        let source = Source(keySet(try TestIssuer(0), age: 1000))
        let keys = keys(transport(source))
        await keys.refresh()
        #expect(keys.nextDelay(0) == .seconds(750))
        #expect(keys.nextDelay(.max) < .seconds(900) && keys.nextDelay(.max) > .seconds(899))
        source.now = .failure(.timeout)
        var delays: [Duration] = []
        for _ in 0..<9 {
            await keys.refresh()
            delays.append(keys.nextDelay(0))
        }
        #expect(delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        let never = self.keys(transport(Source(.failure(.timeout))))
        for _ in 0..<9 { await never.refresh() }
        #expect(never.nextDelay(0) == .seconds(7.5))
    }

    private func discovery(_ document: String) throws -> ScriptedTransport {
        let keys = TestIssuer.keySet([try TestIssuer(0)])
        return ScriptedTransport { request in
            request.url.hasSuffix("/.well-known/openid-configuration") ? .text(200, document) : .text(200, keys)
        }
    }

    @Test @LoopActor func `finds the keys where the discovery document says, and remembers that for a day`()
        async throws
    {
        let document = #"{"issuer":"https://id.example","jwks_uri":"https://keys.example/a"}"#
        let transport = try discovery(document)
        let keys = keys(transport, url: nil)
        await keys.refresh()
        await keys.refresh()
        let configuration = "https://id.example/.well-known/openid-configuration"
        #expect(
            transport.requests.map(\.url) == [configuration, "https://keys.example/a", "https://keys.example/a"])
        time.pass(.seconds(86_400))
        await keys.refresh()
        #expect(transport.requests.map(\.url).suffix(2) == [configuration, "https://keys.example/a"])
    }

    @Test(arguments: [
        #"{"issuer":"https://id.example/","jwks_uri":"https://id.example/a"}"#,
        #"{"issuer":"https://other.example","jwks_uri":"https://id.example/a"}"#,
        #"{"issuer":"https://id.example","jwks_uri":"http://id.example/a"}"#,
        #"{"issuer":"https://id.example","jwks_uri":"http://127.0.0.1/a"}"#,
        #"{"issuer":"https://id.example","jwks_uri":"https://localhost/a"}"#,
        #"{"issuer":"https://id.example","jwks_uri":"https://[::1]:8443/a"}"#,
        #"{"issuer":"https://id.example","jwks_uri":"file:///etc/passwd"}"#,
        #"{"issuer":"https://id.example"}"#, #"{"jwks_uri":"https://id.example/a"}"#,
    ])
    @LoopActor func `asks nobody whom a wrong discovery document names`(document: String) async throws {
        var outcome: KeyFetchError?
        let transport = try discovery(document)
        let keys = keys(transport, url: nil) { outcome = $0 }
        await keys.refresh()
        #expect(outcome == .wrongIssuer && keys.keys == nil)
        #expect(transport.requests.count == 1)
    }
}
