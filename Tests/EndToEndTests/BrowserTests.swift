import Foundation
import Testing

extension EndToEnd {
    /// What nginx sends to web pages in browsers, and what of it a worker hears.
    @Suite struct Browsers {
        private static let page = "https://app.example"
        private static let ownPage = "http://[::1]:3000"
        /// As many as there may be, longer than nginx's tables of texts take.
        private static let origins =
            [page, ownPage] + (1...62).map { "https://\(String(repeating: "long.", count: 24))\($0).example" }
        private static let exposed = "Date, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"

        private static func options(
            status: Int32? = 0, _ settings: @escaping (inout TestSettings) -> Void = { _ in },
            files: @escaping () throws -> [String: String] = { [:] }
        ) -> Stack.Options {
            var options = Stack.Options(nginx: true, status: status)
            options.settings = {
                $0["web.origins"] = origins
                settings(&$0)
            }
            options.nginxFiles = { stack in
                let command = try Command(["nginx-cors", stack.settingsFile])
                try #require(command.status == 0, "\(command.text)")
                return try files().merging(["cors.conf": command.text]) { _, cors in cors }
            }
            return options
        }

        private static func preflight(
            _ method: String = "POST", _ target: String = "/api/v1/auth/sts-token", from origin: String = page
        ) -> TestRequest {
            TestRequest(
                method: "OPTIONS", target: target,
                fields: [
                    "Origin": origin, "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": "authorization,content-type",
                ])
        }

        /// The fields that are for browsers.
        private static func permission(_ response: TestResponse) -> [String: String] {
            response.fields.filter { $0.key.hasPrefix("access-control-") || $0.key == "vary" }
        }

        private static func readable(by origin: String = page) -> [String: String] {
            ["access-control-allow-origin": origin, "access-control-expose-headers": exposed, "vary": "Origin"]
        }

        /// All that the worker has responded to, but for this.
        private static func requests(_ stack: Stack) throws -> Double {
            let metrics = Metrics(try stack.ask(.metrics).text)
            return metrics.sum("cloakroom_requests_total")
                - metrics.sum("cloakroom_requests_total", ["route": "/metrics"])
        }

        @Test func `what is for local networks is for no page`() throws {
            try Stack.run("local-routes", Self.options()) { stack in
                for target in ["/healthz", "/readyz", "/metrics", "/status"] {
                    let request = TestRequest(method: "GET", target: target, fields: ["Origin": Self.page])
                    let response = try stack.askNginx(request)
                    #expect([200, 503].contains(response.status), "\(target)")
                    #expect(Self.permission(response) == ["vary": "Origin"], "\(target)")
                    let preflight = try stack.askNginx(Self.preflight("GET", target))
                    #expect(Self.permission(preflight) == ["vary": "Origin"], "\(target)")
                }
            }
        }

        @Test func `a preflight is permitted to listed pages alone, and reaches no worker`() throws {
            try Stack.run("preflight", Self.options()) { stack in
                let before = try Self.requests(stack)
                for (method, target) in [
                    ("POST", "/api/v1/auth/sts-token"), ("GET", "/v2/attachments/presigned?contentType=image/jpeg"),
                    ("PUT", "/v2/assets/renew"), ("DELETE", "/v2/uploads/an-id"), ("GET", "/none"),
                ] {
                    for origin in [Self.page, Self.ownPage] {
                        let reply = try stack.askNginx(Self.preflight(method, target, from: origin))
                        #expect(reply.told == "204 ", "\(method) \(target)")
                        #expect(
                            Self.permission(reply) == [
                                "access-control-allow-origin": origin, "vary": "Origin",
                                "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
                                "access-control-allow-headers": "Authorization, Content-Type, X-Convos-AuthToken, *",
                                "access-control-max-age": "7200",
                            ])
                        #expect(reply.fields["x-request-id"] != nil && reply.fields["cache-control"] == "no-store")
                    }
                }
                for origin in [
                    "https://evil.example", "null", "*", "http://app.example", "https://app.example:8443",
                    "https://app.example/", "https://app.example.evil.example", "https://appxexample",
                    "https://APP.example", "http://[::1]:30001",
                ] {
                    let reply = try stack.askNginx(Self.preflight(from: origin))
                    #expect(reply.told == "204 " && Self.permission(reply) == ["vary": "Origin"], "\(origin)")
                }
                #expect(try Self.requests(stack) == before)
                // Neither of them is a preflight.
                for name in ["Origin", "Access-Control-Request-Method"] {
                    var ask = Self.preflight()
                    ask.fields[name] = nil
                    #expect(
                        try stack.askNginx(ask).told
                            == #"405 {"error":"Method not allowed","code":"method_not_allowed"}"#)
                }
                #expect(try Self.requests(stack) == before + 2)
                let access = RunFolder.text(of: "\(stack.folder)/nginx/access.log")
                #expect(access.contains(#""method":"OPTIONS","path":"/v2/uploads/{id}","status":204,"#))
            }
        }

        @Test func `pages that are listed can read every response, and other pages none`() throws {
            let options = Self.options(status: nil) { $0["limits.vend.requests"] = 1 }
            try Stack.run("readable", options) { stack in
                let token = Tokens.fresh()
                func check(_ ask: TestRequest, _ status: Int, _ fields: [String] = []) throws {
                    var ask = ask
                    ask.fields["Origin"] = Self.page
                    let reply = try stack.askNginx(ask)
                    #expect(reply.status == status, "\(ask.method) \(ask.target)")
                    #expect(Self.permission(reply) == Self.readable(), "\(status)")
                    #expect(fields.allSatisfy { reply.fields[$0] != nil }, "\(status)")
                    ask.fields["Origin"] = "https://evil.example"
                    let foreign = try stack.askNginx(ask)
                    #expect(Self.permission(foreign) == ["vary": "Origin"], "\(status)")
                    ask.fields["Origin"] = nil
                    let none = try stack.askNginx(ask)
                    #expect(Self.permission(none) == ["vary": "Origin"], "\(status)")
                }
                try check(.presign(token), 200, ["ratelimit", "ratelimit-policy"])
                try check(.get("/none"), 404)
                try check(.vend("a.b.c"), 401)
                try check(.get("/api/v1/auth/sts-token"), 405, ["allow"])
                try check(TestRequest(method: "TRACE", target: "/v2/none"), 405, ["allow"])
                try check(.get("/v2/attachments/presigned?\(String(repeating: "a", count: 5000))", token: token), 400)
                try check(.renew(token, body: String(repeating: " ", count: 70_000)), 413)
                // There is no STS: what is not vended counts in vendAll alone, ten times limits.vend.
                for _ in 0..<10 { _ = try stack.askNginx(.vend(token)) }
                try check(.vend(token), 429, ["retry-after", "ratelimit"])
                stack.server?.stop()
                try check(.vend(token), 502, ["retry-after"])
                // Refused before the head was read to its end.
                let socket = try Socket(port: try #require(stack.nginx).port)
                try socket.send("GET / HTTP/1.1\r\nOrigin: \(Self.page)\r\nHost: a b\r\n\r\n")
                let malformed = try #require(TestResponse(try socket.receiveToEnd()))
                #expect(malformed.status == 400 && Self.permission(malformed) == Self.readable())
            }
        }

        @Test func `nor does a limit or a hung worker hide what nginx says`() throws {
            func changed(_ file: String, _ changes: (String, String)...) throws -> String {
                try changes.reduce(Nginx.text(of: file)) { $0.replacing($1.0, with: $1.1) }
            }
            // This machine counts as any other, and may send next to nothing.
            let options = Self.options(files: {
                [
                    "private-networks.conf": try changed("private-networks.conf", ("127.0.0.0/8 0", "127.0.0.0/8 1")),
                    "counting.conf": try changed("counting.conf", ("rate=100r/s", "rate=1r/m")),
                    "limits.conf": try changed("limits.conf", ("burst=500", "burst=4")),
                    "request.conf": try changed(
                        "request.conf", ("fastcgi_read_timeout 20s", "fastcgi_read_timeout 1s")),
                    "local-networks.conf": "deny all;\n",
                ]
            })
            try Stack.run("limited", options) { stack in
                func send(_ ask: TestRequest, isReadable: Bool = true) throws -> TestResponse {
                    var ask = ask
                    ask.fields["Origin"] = Self.page
                    let reply = try stack.askNginx(ask)
                    let permission = isReadable ? Self.readable() : ["vary": "Origin"]
                    #expect(Self.permission(reply) == permission, "\(reply.status)")
                    return reply
                }
                // It is for no page, whatever nginx says.
                #expect(
                    try send(.metrics, isReadable: false).told
                        == #"403 {"error":"Only for local networks","code":"forbidden"}"#)
                let worker = try #require(stack.server)
                worker.signal(SIGSTOP)
                let hung = try send(.get("/none"))
                worker.signal(SIGCONT)
                #expect(hung.status == 504 && hung.fields["retry-after"] == "10")
                let replies = try (1...8).map { _ in try send(.get("/none")) }
                #expect(Set(replies.map(\.status)) == [404, 429])
                #expect(replies.last?.fields["retry-after"] == "1")
                // What no worker hears of is not counted, either.
                #expect(try stack.askNginx(Self.preflight()).status == 204)
            }
        }

        @Test func `without origins all is as it was for every page`() throws {
            try Stack.run("no-pages", .init(nginx: true)) { stack in
                let token = Tokens.fresh()
                func reply(_ ask: TestRequest, from origin: String?) throws -> (String, [String: String]) {
                    var ask = ask
                    ask.fields["Origin"] = origin
                    let reply = try stack.askNginx(ask)
                    return (
                        reply.told,
                        reply.fields.filter { !["date", "x-request-id", "ratelimit"].contains($0.key) }
                    )
                }
                for ask in [
                    .health, .get("/none"), .vend("a.b.c"), .get("/api/v1/auth/sts-token"), Self.preflight(),
                    .renew(token, body: String(repeating: " ", count: 70_000)),
                    .renew(token, body: "{"),
                ] as [TestRequest] {
                    let plain = try reply(ask, from: nil)
                    let paged = try reply(ask, from: Self.page)
                    #expect(plain.0 == paged.0 && plain.1 == paged.1, "\(ask.method) \(ask.target)")
                    #expect(paged.1.keys.allSatisfy { !$0.hasPrefix("access-control-") && $0 != "vary" })
                }
                let (told, fields) = try reply(Self.preflight(), from: Self.page)
                #expect(told == #"405 {"error":"Method not allowed","code":"method_not_allowed"}"#)
                #expect(
                    fields == [
                        "server": "nginx", "content-type": "application/json", "connection": "close", "allow": "POST",
                        "content-length": "58", "cache-control": "no-store", "x-content-type-options": "nosniff",
                        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
                        "referrer-policy": "no-referrer",
                    ])
            }
        }

        @Test func `the command replaces the file as a whole`() throws {
            let folder = try RunFolder.make("cors-file")
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            settings["web.origins"] = [Self.page]
            try settings.write(to: "\(folder)/settings.json5")
            let file = "\(folder)/cors.conf"
            try "former".write(toFile: file, atomically: false, encoding: .utf8)
            let command = try Command(["nginx-cors", "--output", file, "\(folder)/settings.json5"])
            #expect(command.status == 0 && command.text == "")
            #expect(RunFolder.text(of: file) == (try Command(["nginx-cors", "\(folder)/settings.json5"]).text))
            settings["web.origins"] = ["*"]
            try settings.write(to: "\(folder)/settings.json5")
            let refused = try Command(["nginx-cors", "--output", file, "\(folder)/settings.json5"])
            #expect(refused.status == 1 && refused.text.contains("web.origins[0]: is \"*\""))
            #expect(RunFolder.text(of: file).contains("https://app.example"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
        }
    }
}
