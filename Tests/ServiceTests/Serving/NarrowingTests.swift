import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// Requests for less than the tier has.
@Suite(.onLoop)
struct NarrowingTests {
    private static let many = #"limits: {vend: {requests: 1000, whenRedisIsAway: "open"}}"#

    /// Status and body alone.
    private func told(_ answer: String) -> String {
        let lines = answer.split(separator: "\n", omittingEmptySubsequences: false)
        return "\(lines.first ?? "") \(lines.last ?? "")"
    }

    @Test @LoopActor func `asks STS for the scope and the lifetime of the body`() async throws {
        let service = try TestService(Self.many)
        let answer = await service.ask(
            "POST", "/api/v1/auth/sts-token", token: try service.token(),
            body: #"{"scope":"upload","lifetimeSeconds":900}"#)
        #expect(answer.hasPrefix("200\n"))
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        #expect(form.contains("&DurationSeconds=900&"))
        #expect(form.contains("s3%3APutObject") && !form.contains("s3%3AGetObject"))
    }

    @Test @LoopActor func `asks STS for the scope and the lifetime of the query`() async throws {
        let service = try TestService(Self.many)
        let answer = await service.ask(
            "GET", "/v1/credentials?lifetimeSeconds=1800&scope=r%65ad", token: try service.token())
        #expect(answer.hasPrefix("200\n"))
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        #expect(form.contains("&DurationSeconds=1800&"))
        #expect(form.contains("s3%3AGetObject") && !form.contains("s3%3APutObject"))
    }

    @Test @LoopActor func `hands out of its cache only what was asked for`() async throws {
        let service = try TestService(Self.many)
        let token = try service.token()
        for body in ["", #"{"scope":"read"}"#, "{}", #"{"scope":"read"}"#, #"{"scope":"full"}"#, ""] {
            #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: token, body: body).hasPrefix("200\n"))
        }
        #expect(service.transport.requests.count == 2)
    }

    @Test(arguments: [
        ("[]", #"400 {"error":"Invalid request body","code":"invalid_request"}"#),
        (#"{"scop":"read"}"#, #"400 {"error":"Invalid request body","code":"invalid_request"}"#),
        (#"{"scope":"admin"}"#, #"403 {"error":"Scope not allowed","code":"forbidden"}"#),
        (
            #"{"lifetimeSeconds":3601}"#,
            #"400 {"error":"lifetimeSeconds must be from 900 to 3600","code":"invalid_request"}"#
        ),
        (
            #"{"lifetimeSeconds":899}"#,
            #"400 {"error":"lifetimeSeconds must be from 900 to 3600","code":"invalid_request"}"#
        ),
    ])
    @LoopActor func `refuses a body that asks for more, or for what nobody understands`(
        body: String, expected: String
    ) async throws {
        let service = try TestService(Self.many)
        let answer = await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token(), body: body)
        #expect(told(answer) == expected)
        #expect(service.transport.requests.isEmpty)
    }

    @Test(arguments: [
        "scope", "scop=read", "scope=read&scope=full", "scope=read&x", "lifetimeSeconds=", "lifetimeSeconds=900.5",
        "lifetimeSeconds=%39%30%30%", "scope=%ff",
    ])
    @LoopActor func `refuses a query that nobody understands`(query: String) async throws {
        let service = try TestService(Self.many)
        let answer = await service.ask("GET", "/v1/credentials?\(query)", token: try service.token())
        let refusals = [
            #"400 {"error":"Invalid request query","code":"invalid_request"}"#,
            #"403 {"error":"Scope not allowed","code":"forbidden"}"#,
        ]
        #expect(told(answer) == refusals[query == "scope" ? 1 : 0])
        #expect(service.transport.requests.isEmpty)
    }

    @Test @LoopActor func `gives no more than the settings' scope`() async throws {
        let service = try TestService(Self.many, vending: "scope: 'upload'")
        let token = try service.token()
        for name in ["full", "read"] {
            let answer = await service.ask(
                "POST", "/api/v1/auth/sts-token", token: token, body: #"{"scope":"\#(name)"}"#)
            #expect(told(answer) == #"403 {"error":"Scope not allowed","code":"forbidden"}"#)
        }
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: token).hasPrefix("200\n"))
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        #expect(!form.contains("s3%3AGetObject"))
    }
}
