import Foundation
import CloakroomTestSupport
import Testing

extension EndToEnd {
    /// What others have come to rely on, byte for byte: responses, log keys, metrics and Redis keys, compared with files
    /// in `Recorded`. `CLOAKROOM_RECORD=1` writes them anew.
    @Suite struct Wire {
        private func options(_ issuer: SignIn.Issuer) -> Stack.Options {
            .init(s3: true) { settings in
                let pem = "\(settings.folder)/session.pem"
                try? TestKeys.p256.write(toFile: pem, atomically: false, encoding: .utf8)
                settings["tokens.issuers"] =
                    [
                        [
                            "issuer": issuer.server.url, "audiences": ["app"], "discovery": true,
                            "algorithms": ["RS256"], "for": "session", "subjects": "mapped",
                        ] as [String: Any],
                        [
                            "issuer": Tokens.issuer, "audiences": ["cloakroom"], "algorithms": ["HS256"],
                            "secret": ["env": "TEST_TOKEN_SECRET"],
                        ] as [String: Any],
                        [
                            "preset": "apple", "issuer": "https://apple.localhost", "clientIDs": ["app"],
                            "requireNonce": false, "jwksURL": "\(issuer.server.url)/apple-keys",
                        ] as [String: Any],
                    ] as [[String: Any]]
                settings["session"] =
                    [
                        "issuer": "https://photos.localhost",
                        "keys": [["keyID": "s1", "privateKey": ["file": pem]] as [String: Any]],
                    ] as [String: Any]
                settings["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
                settings["tiers"] =
                    ["free": [:], "once": ["limits": ["vend": 1, "upload": 1]]] as [String: [String: Any]]
            }
        }

        @Test func `responses, log keys, metrics and Redis keys are those that are recorded`() throws {
            let issuer = try SignIn.Issuer()
            try Stack.run("wire", options(issuer)) { stack in
                try stack.waitUntilReady()
                try EndToEnd.s3().put("wire.bin")
                var transcript = Transcript(stack)
                let token = Tokens.token(user: "u_wire", device: "d_wire", tier: "free")
                try record(vending: token, &transcript)
                try record(signIn: issuer, stack, &transcript)
                try record(uploads: token, &transcript)
                try record(renewals: token, &transcript)
                try record(others: token, &transcript)
                try record(refusals: stack, &transcript)
                try Recording("responses").compare(transcript.text)
                try Recording("redis").compare(redisKeys(stack))
                try Recording("metrics").compare(metrics(stack))
                try wait(for: "every request in the log", within: .seconds(5)) {
                    stack.logLines("request").count >= transcript.count
                }
                try Recording("logs").compare(logKeys(stack))
            }
        }

        private func post(_ target: String, _ token: String?, _ body: String) -> TestRequest {
            var ask = TestRequest.get(target, token: token)
            (ask.method, ask.body) = ("POST", Array(body.utf8))
            ask.fields["Content-Type"] = "application/json"
            return ask
        }

        private func record(vending token: String, _ transcript: inout Transcript) throws {
            let target = "/api/v1/auth/sts-token"
            try transcript.send("vend without a token", TestRequest(method: "POST", target: target))
            try transcript.send("vend with a token that is none", .vend("no.token.here"))
            try transcript.send("vend", .vend(token))
            try transcript.send("vend again, from the cache", .vend(token))
            for scope in ["read", "upload", "full", "everything"] {
                try transcript.send("vend with scope \(scope)", .vend(token, scope: scope))
            }
            try transcript.send("vend with a null scope", post(target, token, #"{"scope":null}"#))
            try transcript.send("vend with half a JSON", post(target, token, #"{"scope":"#))
            try transcript.send("vend by GET", .get(target, token: token))
            try transcript.send("container credentials", .get("/v1/credentials", token: token))
            for query in ["lifetimeSeconds=1800", "scope=read", "lifetimeSeconds=+5", "lifetimeSeconds=1", "x=1"] {
                try transcript.send(
                    "container credentials with \(query)", .get("/v1/credentials?\(query)", token: token))
            }
        }

        private func record(signIn issuer: SignIn.Issuer, _ stack: Stack, _ transcript: inout Transcript) throws {
            let target = "/api/v1/auth/session"
            let identity = issuer.token(issuer.server.url, #""sub":"person""#)
            let reply = try transcript.send("sign in", post(target, nil, #"{"identityToken":"\#(identity)"}"#))
            let session = Secrets.keep(try #require(reply["token"], "\(reply.told)\(stack.warnings)"))
            Secrets.keep(try transcript.send("continue the session", post(target, session, "{}"))["token"] ?? "")
            try transcript.send("vend with a session", .vend(session))
            try transcript.send("vend with an identity token", .vend(identity))
            try transcript.send("sign in with nothing", post(target, nil, "{}"))
            try transcript.send("sign in with no token", post(target, nil, #"{"identityToken":"x"}"#))
            try transcript.send("the session keys", .get("/.well-known/jwks.json"))
            let hook = "/api/v1/auth/apple/notifications"
            let events = #""events":"{\"type\":\"email-enabled\",\"sub\":\"001.a\",\"event_time\":1}""#
            let notification = issuer.token("https://apple.localhost", events)
            try transcript.send("Apple's notification", post(hook, nil, #"{"payload":"\#(notification)"}"#))
            try transcript.send("Apple's notification with no token", post(hook, nil, #"{"payload":"x"}"#))
            let user = try #require(reply["userId"])
            for words in [["revoke", "--keep-enabled", user], ["disable", user]] {
                // The command reads the same settings; what it prints is prose.
                let command = try Command(["user"] + words + [stack.settingsFile])
                #expect(command.status == 0, "\(command.text)")
                try transcript.send("vend after user \(words[0])", .vend(session))
            }
        }

        private func record(uploads token: String, _ transcript: inout Transcript) throws {
            let digest = "ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5"
            let query = "contentType=image/jpeg"
            for more in [
                "", "&filename=a.jpg", "&contentLength=7", "&contentLength=7&sha256=\(digest)", "&contentLength=07",
                "&contentLength=99999999999999", "&sha256=x", "&filename=%2F..%2F", "&unknown=1",
            ] { try transcript.send("presign with \(more)", .presign(token, query: query + more)) }
            try transcript.send("presign without a type", .presign(token, query: "filename=a.jpg"))
            let form = "/v2/attachments/presigned-post"
            for body in [#"{"contentType":"image/jpeg","maximumBytes":1000}"#, "{}", "[]", #"{"contentType":7}"#] {
                try transcript.send("presign a form for \(body)", post(form, token, body))
            }
            let uploads = "/v2/uploads"
            let begun = try transcript.send(
                "begin an upload", post(uploads, token, #"{"contentType":"video/mp4","contentLength":7}"#))
            let upload = "\(uploads)/\(try #require(begun["uploadId"], "\(begun.told)"))"
            try transcript.send("begin an upload without a length", post(uploads, token, #"{"contentType":"a/b"}"#))
            try transcript.send("the URLs of parts", .get("\(upload)/parts?from=1&count=1", token: token))
            try transcript.send("the URLs of parts that are none", .get("\(upload)/parts?from=0", token: token))
            try transcript.send(
                "complete with a part that is not there",
                post("\(upload)/complete", token, #"{"parts":[{"partNumber":1,"etag":"\"0\""}]}"#))
            try transcript.send("complete with no parts", post("\(upload)/complete", token, #"{"parts":[]}"#))
            var abort = TestRequest.get(upload, token: token)
            abort.method = "DELETE"
            try transcript.send("give the upload up", abort)
            abort.target = "\(uploads)/x"
            try transcript.send("give up an upload that is none", abort)
        }

        private func record(renewals token: String, _ transcript: inout Transcript) throws {
            try transcript.send("renew", .renew(token, ["wire.bin", "gone.bin", "../x", "wire.bin", "photos/u_1/a"]))
            for body in [
                #"{"assetKeys":[]}"#, #"{"assetKeys":"a"}"#, "{}", "x",
                #"{"assetKeys":[\#(Array(repeating: "\"a\"", count: 101).joined(separator: ","))]}"#,
            ] { try transcript.send("renew \(body.prefix(40))", .renew(token, body: body)) }
            for body in [#"{"assetKey":"wire.bin"}"#, #"{"assetKey":"gone.bin"}"#, "{}"] {
                var ask = post("/v2/assets/renew", token, body)
                ask.method = "PUT"
                try transcript.send("renew one key: \(body)", ask)
            }
        }

        private func record(others token: String, _ transcript: inout Transcript) throws {
            try transcript.send("health", .health)
            try transcript.send("readiness", .ready)
            try transcript.send("health by HEAD", TestRequest(method: "HEAD", target: "/healthz"))
            try transcript.send("no route", .get("/nowhere", token: token))
            try transcript.send("health by POST", TestRequest(method: "POST", target: "/healthz"))
        }

        /// Two tokens of a tier with a limit of one: the second request of each kind is refused.
        private func record(refusals stack: Stack, _ transcript: inout Transcript) throws {
            let limited = Tokens.token(user: "u_once", device: "d_once", tier: "once")
            for turn in ["first", "second"] {
                try transcript.send("the \(turn) upload of one", .presign(limited))
                try transcript.send("the \(turn) vend of one", .vend(limited, scope: turn == "first" ? "read" : "full"))
            }
            try transcript.send("a tier that is unknown", .vend(Tokens.token(user: "u_tier", tier: "none")))
            try transcript.send("a user with no name", .vend(Tokens.token(user: "", tier: "free")))
            try transcript.send("a user with a reserved name", .vend(Tokens.token(user: "cloakroom-x", tier: "free")))
        }

        private func redisKeys(_ stack: Stack) throws -> String {
            let redis = try #require(stack.redis)
            let lines = try redis.command("KEYS *").map { key in
                Transcript.masked(key.replacing(/[A-Za-z0-9_\-]{22,}/, with: "HASH")) + " "
                    + (try redis.command("TYPE \(key)").first ?? "")
            }
            return Set(lines).sorted().joined(separator: "\n") + "\n"
        }

        /// Types and series, without buckets and values. How often readiness was asked for differs.
        private func metrics(_ stack: Stack) throws -> String {
            let lines = try stack.ask(.metrics).text.split(separator: "\n").compactMap { line -> String? in
                if line.hasPrefix("# TYPE ") { return String(line.dropFirst(2)) }
                guard !line.hasPrefix("#"), let end = line.lastIndex(of: " ") else { return nil }
                return String(line[..<end]).replacing(/,?le="[^"]*"/, with: "")
                    .replacing(/127\.0\.0\.1:\d+/, with: "HOST")
            }
            return Set(lines.filter { !$0.contains("/readyz") }).sorted().joined(separator: "\n") + "\n"
        }

        /// The keys of each kind of line that requests leave in the log and the audit file.
        private func logKeys(_ stack: Stack) throws -> String {
            let audit = RunFolder.text(of: stack.auditFile).split(separator: "\n").compactMap {
                (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
            }
            let lines =
                stack.logLines("request").map { "request " + $0.keys.sorted().joined(separator: " ") }
                + audit.map { "audit \($0["kind"] ?? "") " + $0.keys.sorted().joined(separator: " ") }
            return Set(lines).sorted().joined(separator: "\n") + "\n"
        }
    }
}

/// Requests and their responses, with what differs from run to run masked.
private struct Transcript {
    private let stack: Stack
    private(set) var text = ""
    private(set) var count = 0

    init(_ stack: Stack) { self.stack = stack }

    @discardableResult
    mutating func send(_ title: String, _ ask: TestRequest) throws -> TestResponse {
        let reply = try stack.ask(ask)
        if let signature = reply["uploadUrl"].map(Presigned.signature) { Secrets.keep(signature) }
        let fields = reply.fields.sorted { $0.key < $1.key }.map { name, value in
            // Session tokens differ in length.
            name == "content-length" && reply.text.lowercased().contains(#"token":"#)
                ? "\(name): BYTES" : "\(name): \(value)"
        }
        text += "## \(title)\n\(reply.status)\n"
        text += Self.masked(fields.joined(separator: "\n") + "\n\n" + reply.text) + "\n\n"
        count += 1
        return reply
    }

    static func masked(_ text: String) -> String {
        text.replacing(
            /"(sessionToken|secretAccessKey|accessKeyId|Token|SecretAccessKey|AccessKeyId|policy|uploadId|token|x|y|userId)":"[^"]*"/
        ) {
            "\"\($0.1)\":\"MASKED\""
        }
        .replacing(/"[A-Za-z0-9+\/=]{100,}"/, with: "\"BASE64\"")
        .replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "DATE")
        .replacing(/\d{8}T\d{6}Z/, with: "TIME")
        .replacing(/\/\d{8}\//, with: "/DAY/")
        .replacing(/%2F\d{8}%2F/, with: "%2FDAY%2F")
        .replacing(/localhost:\d+|127\.0\.0\.1:\d+/, with: "HOST")
        .replacing(/\/v2\/uploads\/[A-Za-z0-9_\-.]+/, with: "/v2/uploads/ID")
        .replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "UUID")
        .replacing(/[0-9a-f]{16,}/, with: "HEX")
        .replacing(/uploadId=[^&"]+/, with: "uploadId=ID")
        .replacing(/;t=\d+/, with: ";t=SECONDS")
        .replacing(/((?:reset|retry-after|max-age): )\d+/) { "\($0.1)SECONDS" }
    }
}

/// A file of `Recorded`.
private struct Recording {
    private let path: String

    init(_ name: String, file: String = #filePath) {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Recorded")
        path = folder.appendingPathComponent("\(name).txt").path
    }

    func compare(_ text: String) throws {
        if ProcessInfo.processInfo.environment["CLOAKROOM_RECORD"] != nil {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let recorded = RunFolder.text(of: path).components(separatedBy: "\n")
        let found = text.components(separatedBy: "\n")
        let changes = found.difference(from: recorded).map { change in
            switch change {
            case .insert(_, let line, _): "+ \(line)"
            case .remove(_, let line, _): "- \(line)"
            }
        }
        #expect(changes == [], "\(path)")
    }
}
