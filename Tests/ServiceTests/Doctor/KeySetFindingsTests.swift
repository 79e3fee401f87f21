import CloakroomHTTP
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct KeySetFindingsTests {
    private static func issuer(_ algorithms: Set<SignatureAlgorithm> = [.es256]) -> Issuer {
        Issuer(name: TestIssuer.name, audiences: ["app"], algorithms: algorithms, keys: .address(TestIssuer.keysURL))
    }

    private static func lines(
        _ issuer: Issuer = issuer(), _ script: @escaping ScriptedTransport.Script
    ) async -> [String] {
        let fetcher = KeyFetcher(transport: ScriptedTransport(script), timeout: .seconds(1))
        return await KeySetFindings(issuer).all(by: fetcher).lines
    }

    private static func lines(_ issuer: Issuer = issuer(), keys: [JSON]) async -> [String] {
        await lines(issuer) { _ in .text(200, TestIssuer.keySet(keys)) }
    }

    @Test func `fetches keys and tells that they serve`() async throws {
        let lines = await Self.lines(keys: [try TestIssuer(0).jwk, try TestIssuer(1).jwk])
        #expect(lines == ["ok: https://id.example: 2 keys at https://id.example/keys for ES256"])
    }

    @Test func `follows the discovery document`() async throws {
        var issuer = Self.issuer()
        issuer.keys = .discovery
        let keys = TestIssuer.keySet([try TestIssuer(0)])
        let lines = await Self.lines(issuer) { request in
            request.url.hasSuffix("/.well-known/openid-configuration")
                ? .text(200, #"{"issuer":"https://id.example","jwks_uri":"https://id.example/elsewhere"}"#)
                : .text(200, keys)
        }
        #expect(lines == ["ok: https://id.example: 1 keys at https://id.example/elsewhere for ES256"])
    }

    @Test func `tells algorithms that no key serves`() async throws {
        let jwk = try TestIssuer(0).jwk
        #expect(
            await Self.lines(Self.issuer([.rs256]), keys: [jwk]) == [
                "error: https://id.example: none of its keys serves RS256"
            ])
        #expect(
            await Self.lines(Self.issuer([.es256, .es384]), keys: [jwk]) == [
                "warning: https://id.example: no key serves ES384"
            ])
        // The default takes either.
        #expect(
            await Self.lines(Self.issuer([.es256, .rs256]), keys: [jwk]) == [
                "ok: https://id.example: 1 keys at https://id.example/keys for ES256, RS256"
            ])
    }

    @Test func `tells weak keys, and leaves those of another use alone`() async throws {
        // 1,024 bits.
        let weak: JSON = [
            "kty": .string("RSA"), "kid": .string("old"), "n": .string(String(repeating: "_", count: 172)),
            "e": .string("AQAB"),
        ]
        let other: JSON = [
            "kty": .string("RSA"), "use": .string("enc"), "n": .string("AQ"), "e": .string("AQAB"),
        ]
        let lines = await Self.lines(keys: [try TestIssuer(0).jwk, weak, other])
        #expect(
            lines == [
                "ok: https://id.example: 1 keys at https://id.example/keys for ES256",
                "warning: https://id.example: the key old is too small: RSA takes 2048 bits or more, a secret as many "
                    + "bytes as the hash",
            ])
    }

    @Test(arguments: [
        (UpstreamResponse(status: 503), "do not come as they should (status)"),
        (.text(200, #"{"keys":[]}"#), "hold none of use"), (.text(200, "<html>"), "hold none of use"),
    ])
    func `tells a set that is none`(response: UpstreamResponse, expected: String) async {
        #expect(await Self.lines { _ in response } == ["error: https://id.example: its keys \(expected)"])
    }

    @Test func `tells an address where nobody is`() async {
        let lines = await Self.lines { _ throws(TransportError) in throw .unreachable }
        #expect(lines == ["error: https://id.example: its keys cannot be reached"])
    }
}
