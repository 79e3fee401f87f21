import CloakroomCrypto
import Foundation
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct AuditTests {
    @Test @LoopActor func `has the line written before the credentials are answered`() async throws {
        let service = try TestService()
        #expect(
            await service.ask("POST", "/api/v1/auth/sts-token", token: try service.token(tier: "pro")).hasPrefix("200"))
        let form = String(decoding: try #require(service.transport.requests.first).body, as: UTF8.self)
        let policy = try #require(form.split(separator: "&").first { $0.hasPrefix("Policy=") }).dropFirst(7)
        let open = try #require(policy.removingPercentEncoding).replacing("/u_1/", with: "/${user}/")
        let digest = SHA256.hash(Array(open.utf8)).hexadecimal.prefix(16)
        #expect(
            service.auditLines == """
                {"time":"2027-01-15T08:00:00Z","audit":"issued","request":"000000000000abcd","kind":"credentials",\
                "user":"u_1","tier":"pro","issuer":"https://auth.example","scope":"full","scopeDigest":"\(digest)",\
                "session":"u_1-tro8w0","accessKeyId":"ASIA1","expiration":"2027-01-15T09:00:00Z",\
                "address":"192.0.2.1","chain":"00000000000000c1","sequence":1,"start":{"worker":"w","process":1}}

                """)
    }

    @Test @LoopActor func `has a line for an upload`() async throws {
        let service = try TestService()
        _ = await service.ask("GET", "/v2/attachments/presigned?contentType=image/png", token: try service.token())
        #expect(
            service.auditLines == """
                {"time":"2027-01-15T08:00:00Z","audit":"issued","request":"000000000000abcd","kind":"upload",\
                "user":"u_1","tier":"free","issuer":"https://auth.example",\
                "objectKey":"000102030405060708090a0b0c0d0e0f.bin","expiration":"2027-01-15T08:15:00Z",\
                "address":"192.0.2.1","chain":"00000000000000c1","sequence":1,"start":{"worker":"w","process":1}}

                """)
    }

    @Test @LoopActor func `ties every line to the one before`() async throws {
        let service = try TestService()
        for _ in 0..<2 {
            _ = await service.ask("GET", "/v2/attachments/presigned?contentType=image/png", token: try service.token())
        }
        let lines = service.auditLines.split(separator: "\n")
        #expect(lines.count == 2)
        let digest = SHA256.hash(Array(lines[0].utf8)).hexadecimal
        #expect(lines[1].hasSuffix(#""chain":"00000000000000c1","sequence":2,"previous":"\#(digest)"}"#))
    }

    @Test(arguments: [("POST", "/api/v1/auth/sts-token"), ("GET", "/v2/attachments/presigned?contentType=image/png")])
    @LoopActor func `issues nothing when the line cannot be written`(method: String, target: String) async throws {
        let service = try TestService(audit: "/dev/full")
        let answer = await service.ask(method, target, token: try service.token())
        #expect(answer.hasPrefix("503\n") && answer.contains("\nRetry-After: 5\n"))
        #expect(answer.hasSuffix(#"{"error":"Temporarily unavailable","code":"unavailable"}"#))
        #expect(service.metrics.row[service.metrics.layout.auditFailures.index] == 1)
        #expect(service.metrics.row[service.metrics.layout.issued[.credentials]] == 0)
        #expect(service.metrics.row[service.metrics.layout.issued[.upload]] == 0)
    }

    @Test @LoopActor func `logs one line a request, with no secret in it`() async throws {
        let service = try TestService()
        let token = try service.token()
        _ = await service.ask("POST", "/api/v1/auth/sts-token", token: token)
        _ = await service.ask("GET", "/\"\n\u{1B}[2J?token=\(token)")
        let written = try await service.logLines()
        for secret in ["s3cr3t", "t0k3n", token] { #expect(!written.contains(secret)) }
        let lines = written.replacing(/"milliseconds":[0-9]+/, with: "\"milliseconds\":0")
        #expect(
            lines == """
                {"time":"2027-01-15T08:00:00Z","level":"info","message":"request","route":"/api/v1/auth/sts-token",\
                "method":"POST","status":200,"milliseconds":0,"request":"000000000000abcd","user":"u_1"}
                {"time":"2027-01-15T08:00:00Z","level":"info","message":"request","route":"unknown","method":"GET",\
                "status":404,"milliseconds":0,"request":"000000000000abcd"}

                """)
    }
}
