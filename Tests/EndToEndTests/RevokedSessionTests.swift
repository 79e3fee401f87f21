import CloakroomCrypto
import Foundation
import CloakroomJOSE
import CloakroomTestSupport
import Testing

extension EndToEnd {
    /// FAULTS row 33: nothing issued before a revocation opens anything, on any route, as long as Redis can be asked.
    @Suite struct RevokedSessions {
        private static let revoked = #"401 {"error":"Session revoked","code":"session_revoked"}"#
        private static let undated = "https://undated.localhost"

        /// Sessions for the identity tokens of one issuer, and requests with the tokens of two others.
        private func options(_ issuer: SignIn.Issuer) -> Stack.Options {
            .init(s3: true) { settings in
                let pem = "\(settings.folder)/session.pem"
                try? TestKeys.p256.write(toFile: pem, atomically: false, encoding: .utf8)
                settings["tokens.issuers"] =
                    [
                        ["issuer": issuer.server.url, "discovery": true, "algorithms": ["RS256"], "for": "session"],
                        ["issuer": Tokens.issuer, "secret": ["env": "TEST_TOKEN_SECRET"], "subjects": "plain"],
                        ["issuer": Self.undated, "secret": ["env": "TEST_TOKEN_SECRET"]],
                    ].map { $0.merging(["audiences": ["app"]]) { $1 } } as [[String: Any]]
                settings["session"] =
                    [
                        "issuer": "https://photos.localhost",
                        "keys": [["keyID": "s1", "privateKey": ["file": pem]] as [String: Any]],
                    ] as [String: Any]
                settings["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
                settings["server.requestDeadlineMilliseconds"] = 2000
                settings["tokens.leewaySeconds"] = 2
                settings["limits"] = ["session": ["requests": 1000], "renew": ["requests": 1000]]
            }
        }

        private func user(_ stack: Stack, _ words: String...) throws -> String {
            let command = try Command(["user"] + words + [stack.settingsFile])
            #expect(command.status == 0, "\(words): \(command.text)")
            return command.text
        }

        private func token(_ issuer: String = Tokens.issuer, _ more: String = "") throws -> String {
            let key = try #require(HMACKey(Array(Tokens.secret.utf8)))
            let payload = #"{"iss":"\#(issuer)","aud":"app","sub":"u_rt",\#(more)"exp":4000000000}"#
            return Secrets.keep(TokenSigner(issuer: issuer, audience: "app", key: key).sign(Array(payload.utf8)))
        }

        private func signIn(_ stack: Stack, _ identity: String) throws -> TestResponse {
            try stack.ask(json("POST", "/api/v1/auth/session", #"{"identityToken":"\#(identity)"}"#))
        }

        private func json(_ method: String, _ target: String, _ body: String, token: String? = nil) -> TestRequest {
            var ask = TestRequest.get(target, token: token)
            (ask.method, ask.body) = (method, Array(body.utf8))
            ask.fields["Content-Type"] = "application/json"
            return ask
        }

        /// Every route that takes a token; the upload was begun before.
        private func routes(_ token: String, upload: String) -> [TestRequest] {
            [
                .vend(token), .get("/v1/credentials", token: token), .presign(token), .renew(token, ["gone.bin"]),
                json("PUT", "/v2/assets/renew", #"{"assetKey":"gone.bin"}"#, token: token),
                json("POST", "/v2/attachments/presigned-post", #"{"contentType":"image/png"}"#, token: token),
                begin(token), .get("/v2/uploads/\(upload)/parts?numbers=1", token: token),
                json("POST", "/v2/uploads/\(upload)/complete", "{}", token: token),
                json("DELETE", "/v2/uploads/\(upload)", "", token: token),
                json("POST", "/api/v1/auth/session", "{}", token: token),
            ]
        }

        private func begin(_ token: String) -> TestRequest {
            json("POST", "/v2/uploads", #"{"contentType":"video/mp4","contentLength":3}"#, token: token)
        }

        /// A session, and an upload that it has begun.
        private func begun(_ stack: Stack, _ identity: String) throws -> (user: String, token: String, upload: String) {
            let reply = try signIn(stack, identity)
            let token = Secrets.keep(try #require(reply["token"], "\(reply.told)\(stack.warnings)"))
            let upload = try #require(try stack.ask(begin(token))["uploadId"])
            return (try #require(reply["userId"]), token, upload)
        }

        @Test func `a session from before opens nothing, disabled, enabled again or kept enabled`() throws {
            let issuer = try SignIn.Issuer()
            try Stack.run("row-33", options(issuer)) { stack in
                try stack.waitUntilReady()
                for (number, words) in [[], ["--keep-enabled"]].enumerated() {
                    let identity = issuer.token(issuer.server.url, #""sub":"p\#(number)""#)
                    let (user, token, upload) = try begun(stack, identity)
                    // The upload's end comes last.
                    for ask in routes(token, upload: upload).filter({ $0.method != "DELETE" }) {
                        #expect(try stack.ask(ask).status != 401, "\(ask.method) \(ask.target)")
                    }
                    let command = try Command(["user", "revoke", user] + words + [stack.settingsFile])
                    #expect(command.status == 0, "\(command.text)")
                    if words.isEmpty { _ = try self.user(stack, "enable", user) }
                    for ask in routes(token, upload: upload) {
                        #expect(try stack.ask(ask).told == Self.revoked, "\(ask.method) \(ask.target)")
                    }
                    // Nor does the identity token that it came from open another; a later one does, after a while.
                    let refused = try signIn(stack, identity)
                    #expect(refused.told == Self.revoked)
                    let seconds = try #require(refused.fields["retry-after"].flatMap(Int.init))
                    #expect((1...4).contains(seconds))
                    var later: TestResponse?
                    try wait(for: "the revocation to lie behind", within: .seconds(seconds + 5)) {
                        // Each try counts.
                        usleep(50_000)
                        later = try signIn(stack, issuer.token(issuer.server.url, #""sub":"p\#(number)""#))
                        return later?.status == 200
                    }
                    let session = Secrets.keep(try #require(later?["token"]))
                    #expect(try stack.ask(.vend(session)).status == 200)
                    let last = try signIn(stack, identity)
                    #expect(last.told == Self.revoked && last.fields["retry-after"] == nil)
                }
            }
        }

        @Test func `an issuer's tokens go by iat, else by nbf; with neither they are refused until they are accepted`()
            throws
        {
            let issuer = try SignIn.Issuer()
            try Stack.run("undated", options(issuer)) { stack in
                try stack.waitUntilReady()
                let now = Int(Date().timeIntervalSince1970)
                let dated = [try token(Tokens.issuer, "\"iat\":\(now),"), try token(Tokens.issuer, "\"nbf\":\(now),")]
                let undated = try token()
                for token in dated + [undated] { #expect(try stack.ask(.vend(token)).status == 200) }
                let told = try user(stack, "revoke", "u_rt", "--keep-enabled")
                #expect(told.contains("tokens of \(Tokens.issuer) have neither iat nor nbf"))
                #expect(!told.contains(Self.undated))
                for token in dated + [undated] { #expect(try stack.ask(.vend(token)).told == Self.revoked) }
                let text = try user(stack, "set", "u_rt", "--accept-undated-tokens")
                #expect(try stack.ask(.vend(undated)).status == 200, "\(text)")
                for token in dated { #expect(try stack.ask(.vend(token)).told == Self.revoked) }
                _ = try user(stack, "revoke", "u_rt", "--keep-enabled")
                #expect(try stack.ask(.vend(undated)).told == Self.revoked)
                // Two seconds for requests under way, and the rest of the second after them. Each attempt counts.
                try wait(for: "a token from after it", within: .seconds(20)) {
                    usleep(200_000)
                    let time = Int(Date().timeIntervalSince1970)
                    return try stack.ask(.renew(token(Tokens.issuer, "\"iat\":\(time),"), ["gone.bin"])).status == 200
                }
                #expect(stack.logLines("request").contains { $0["reason"] as? String == "session_revoked" })
            }
        }

        /// What the manual says: without Redis nobody knows of a revocation, and routes set to open serve on.
        @Test func `without Redis the open routes know of no revocation, and the closed ones serve nobody`() throws {
            let issuer = try SignIn.Issuer()
            try Stack.run("unknown", options(issuer)) { stack in
                try stack.waitUntilReady()
                let (user, token, _) = try begun(stack, issuer.token(issuer.server.url, #""sub":"p""#))
                _ = try self.user(stack, "revoke", user)
                _ = try self.user(stack, "enable", user)
                for ask in [TestRequest.vend(token), .presign(token), .renew(token, ["gone.bin"])] {
                    #expect(try stack.ask(ask).told == Self.revoked)
                }
                stack.redis?.stop()
                try wait(for: "Redis' end to be noticed") { try stack.ask(.ready).status == 503 }
                for ask in [TestRequest.presign(token), .renew(token, ["gone.bin"])] {
                    #expect(try stack.ask(ask).status == 200, "\(ask.target)")
                }
                let session = json("POST", "/api/v1/auth/session", "{}", token: token)
                for ask in [TestRequest.vend(token), session] {
                    #expect(try stack.ask(ask).status == 503, "\(ask.target)")
                }
            }
        }
    }
}
