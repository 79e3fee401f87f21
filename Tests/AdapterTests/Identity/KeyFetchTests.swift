import CloakroomCurl
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

/// Fetching keys over real connections, from issuers that do badly (FAULTS.md row 21).
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct KeyFetchTests {
    private static func keySet() throws -> String {
        let key = try TokenSigningKey(.init(pem: Array(TestKeys.p256.utf8)), keyID: "k1")
        return try #require(key.jwk.map { #"{"keys":[\#($0.text)]}"# })
    }

    @LoopActor private func fetcher(timeout: Duration = .seconds(10)) -> KeyFetcher {
        var options = LoopCurlTransport.Options()
        options.maximumResponseBytes = KeyFetcher.maximumBytes
        return KeyFetcher(transport: LoopCurlTransport(options: options), timeout: timeout)
    }

    @LoopActor private func failure(_ url: String, timeout: Duration = .seconds(10)) async -> KeyFetchError? {
        do throws(KeyFetchError) {
            _ = try await fetcher(timeout: timeout).keys(at: url)
            return nil
        } catch {
            return error
        }
    }

    @Test @LoopActor func `reads a key set and how long it is fresh`() async throws {
        let set = try Self.keySet()
        let server = try HTTPServer { _ in [.answer(200, set, fields: [("Cache-Control", "max-age=120")])] }
        let fetched = try await fetcher().keys(at: server.url + "/keys")
        #expect(fetched.keys.keys.map(\.keyID) == ["k1"] && fetched.lifetime == 120)
        #expect(server.requests.map(\.target) == ["/keys"])
    }

    @Test @LoopActor func `follows no redirect`() async throws {
        let set = try Self.keySet()
        let server = try HTTPServer { request in
            request.target == "/other" ? [.answer(200, set)] : [.answer(302, "", fields: [("Location", "/other")])]
        }
        #expect(await failure(server.url + "/keys") == .status)
        #expect(server.requests.map(\.target) == ["/keys"])
    }

    @Test @LoopActor func `names what went wrong`() async throws {
        let latch = Latch()
        let server = try HTTPServer { request in
            switch request.target {
            case "/huge": [.text(HTTPServer.Step.head(200, [("Content-Length", "50000000")])), .zeros(50_000_000)]
            case "/slow": [.wait(latch)]
            case "/cut": [.text(HTTPServer.Step.head(200, [("Content-Length", "100")]) + "{"), .end]
            case "/html": [.answer(200, "<html></html>")]
            default: [.answer(500)]
            }
        }
        #expect(await failure(server.url + "/huge") == .tooLarge)
        #expect(await failure(server.url + "/slow", timeout: .milliseconds(100)) == .timeout)
        #expect(await failure(server.url + "/cut") == .interrupted)
        #expect(await failure(server.url + "/html") == .unusable)
        #expect(await failure(server.url + "/500") == .status)
        latch.open()
        let url = server.url
        server.stop()
        #expect(await failure(url + "/keys") == .unreachable)
    }

    @Test @LoopActor func `a thousand tokens with unknown kids at once are one fetch`() async throws {
        let set = try Self.keySet()
        let server = try HTTPServer { _ in [.answer(200, set)] }
        let passed = Mutex(Duration.zero)
        let start = ContinuousClock.now
        let keys = IssuerKeys(
            remote: .init(
                issuer: "https://id.example", url: server.url + "/keys", fetcher: fetcher(),
                runtime: .init(now: { start + passed.withLock { $0 } }), onFetch: { _ in }))
        await keys.refresh()
        passed.withLock { $0 = IssuerKeys.refetchInterval }
        for task in (0..<1000).map({ _ in LoopActor.spawn { await keys.refetch() } }) { await task.value }
        #expect(server.requests.count == 2)
    }
}
