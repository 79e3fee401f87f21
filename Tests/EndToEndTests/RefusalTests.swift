import Foundation
import Testing

extension EndToEnd {
    /// What is refused, word for word, as clients see it through nginx.
    @Suite struct Refusals {
        @Test func `every refusal is JSON with a sentence and a code`() throws {
            try Stack.run("refusals", .init(nginx: true)) { stack in
                let token = Tokens.fresh()
                for (ask, expected) in Self.cases(token) {
                    let reply = try stack.askNginx(ask)
                    #expect(reply.told == expected, "\(ask.method) \(ask.target)")
                    #expect(reply.fields["content-type"] == "application/json")
                    #expect(reply.fields["cache-control"] == "no-store")
                }
            }
        }

        private static func cases(_ token: String) -> [(TestRequest, String)] {
            let unauthorized = #"401 {"error":"Invalid auth token","code":"unauthorized"}"#
            let noKeys = #"400 {"error":"assetKeys must be a non-empty array","code":"invalid_request"}"#
            let invalid = #"400 {"error":"Invalid request body","code":"invalid_request"}"#
            let notAllowed = #"405 {"error":"Method not allowed","code":"method_not_allowed"}"#
            let type = #"415 {"error":"Content-Type must be application/json","code":"content_type_not_allowed"}"#
            var text = TestRequest.renew(token, ["a.bin"])
            text.fields["Content-Type"] = "text/plain"
            var untyped = TestRequest.renew(token, ["a.bin"])
            untyped.fields["Content-Type"] = nil
            // The tenth batch of a device is the last: these are nine.
            return [
                (.get("/"), #"404 {"error":"No such route","code":"not_found"}"#),
                (.get("/api/v1/auth/sts-token/"), #"404 {"error":"No such route","code":"not_found"}"#),
                (.get("/api/v1/auth/sts-token"), notAllowed),
                (TestRequest(method: "DELETE", target: "/v2/assets/renew"), notAllowed),
                (.vend("not.a.token"), unauthorized),
                (.vend(Tokens.token(user: "u_old", lifetime: .seconds(-3600))), unauthorized),
                (.vend(token + "x"), unauthorized),
                (
                    TestRequest(method: "POST", target: "/api/v1/auth/sts-token"),
                    #"401 {"error":"Missing auth token","code":"unauthorized"}"#
                ),
                (text, type), (untyped, type),
                (.renew(token, body: "{}"), noKeys),
                (.renew(token, body: #"{"assetKeys":[]}"#), noKeys),
                (.renew(token, body: #"{"assetKeys":"a.bin"}"#), noKeys),
                (.renew(token, body: #"{"assetKeys":[1]}"#), invalid),
                (.renew(token, body: "{"), invalid),
                (.renew(token, body: #"{"assetKeys":["a"],"assetKeys":["b"]}"#), invalid),
                (
                    .renew(token, (0...100).map { "\($0).bin" }),
                    #"400 {"error":"Maximum 100 keys per request","code":"invalid_request"}"#
                ),
                (
                    .renew(token, body: String(repeating: " ", count: 70_000)),
                    #"413 {"error":"Request body too large","code":"body_too_large"}"#
                ),
                (
                    .presign(token, query: "contentType=text/html"),
                    #"400 {"error":"This content type cannot be uploaded","code":"content_type_not_allowed"}"#
                ),
                (
                    .presign(token, query: "filename=a.jpg"),
                    #"400 {"error":"contentType is required","code":"invalid_request"}"#
                ),
            ]
        }

        @Test func `a refused method names the one that is allowed`() throws {
            try Stack.run("allow", .init(nginx: true)) { stack in
                for (method, target, allowed) in [
                    ("GET", "/api/v1/auth/sts-token", "POST"), ("POST", "/v1/credentials", "GET"),
                    ("PUT", "/v2/assets/renew-batch", "POST"), ("POST", "/v2/assets/renew", "PUT"),
                    ("DELETE", "/v2/attachments/presigned", "GET"), ("POST", "/healthz", "GET, HEAD"),
                ] {
                    let reply = try stack.askNginx(TestRequest(method: method, target: target))
                    #expect(reply.status == 405)
                    #expect(reply.fields["allow"] == allowed, "\(method) \(target)")
                }
            }
        }

        @Test func `what nginx refuses by itself has the same shape`() throws {
            try Stack.run("nginx-refusals", .init(nginx: true, status: nil)) { stack in
                let port = try #require(stack.nginx).port
                let socket = try Socket(port: port)
                try socket.send("GET / HTTP/1.1\r\nHost: a b\r\n bad\r\n\r\n")
                let malformed = try #require(TestResponse(try socket.receiveToEnd()))
                #expect(malformed.told == #"400 {"error":"Invalid request","code":"invalid_request"}"#)
                let long = try stack.askNginx(.get("/" + String(repeating: "a", count: 10_000)))
                #expect(long.told == #"414 {"error":"Request target too long","code":"invalid_request"}"#)
                let large = try stack.askNginx(.renew("t", body: String(repeating: " ", count: 10 << 20)))
                #expect(large.told == #"413 {"error":"Request body too large","code":"body_too_large"}"#)
                stack.server?.stop()
                let gone = try stack.askNginx(.health)
                #expect(gone.told == #"502 {"error":"No worker could take the request","code":"unavailable"}"#)
                #expect(gone.fields["retry-after"] == "1")
            }
        }

        @Test func `an unsigned request costs no call to anybody`() throws {
            try Stack.run("unsigned", .init(nginx: true)) { stack in
                for _ in 0..<20 { #expect(try stack.askNginx(.vend("a.b.c")).status == 401) }
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_upstream_attempts_total", ["upstream": "sts"]) == 0)
                #expect(try stack.redis?.command("DBSIZE") == ["0"])
            }
        }
    }
}
