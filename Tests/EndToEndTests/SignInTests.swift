import CloakroomCrypto
import CloakroomKit
import Foundation
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

extension EndToEnd {
    /// Signing in with an issuer of the test's own: it publishes its keys over HTTP, and stands in Apple's place as well.
    @Suite struct SignIn {
        /// Signs with keys that it publishes, and counts who asks for them.
        final class Issuer: Sendable {
            let server: HTTPServer
            private let key: TokenSigningKey

            init() throws {
                let key = try TokenSigningKey(.init(pem: Array(TestKeys.rsa.utf8)), keyID: "r1")
                let jwk = try #require(key.jwk).text
                self.key = key
                server = try HTTPServer { request in
                    guard request.target == "/.well-known/openid-configuration" else {
                        return [.answer(200, #"{"keys":[\#(jwk)]}"#)]
                    }
                    let url = "http://\(request["host"] ?? "")"
                    return [.answer(200, #"{"issuer":"\#(url)","jwks_uri":"\#(url)/keys"}"#)]
                }
            }

            func token(_ issuer: String, _ more: String) -> String {
                let now = Int(Date().timeIntervalSince1970)
                let claims = #"{"iss":"\#(issuer)","aud":"app","iat":\#(now),"exp":\#(now + 600),\#(more)}"#
                return Secrets.keep(TokenSigner(issuer: issuer, audience: "app", key: key).sign(Array(claims.utf8)))
            }

            var keyFetches: Int { server.requests.count { $0.target == "/keys" } }
        }

        private static let apple = "https://apple.localhost"

        private func options(_ issuer: Issuer) -> Stack.Options {
            let url = issuer.server.url
            return .init(nginx: true, s3: true) { settings in
                let pem = "\(settings.folder)/session.pem"
                try? TestKeys.p256.write(toFile: pem, atomically: false, encoding: .utf8)
                settings["tokens.issuers"] = [
                    [
                        "issuer": url, "audiences": ["app"], "discovery": true, "algorithms": ["RS256"],
                        "for": "session", "subjects": "mapped",
                    ] as [String: Any],
                    [
                        "preset": "apple", "issuer": Self.apple, "clientIDs": ["app"],
                        "requireNonce": false, "jwksURL": "\(url)/apple-keys",
                    ] as [String: Any],
                ]
                settings["session"] =
                    [
                        "issuer": "https://photos.localhost",
                        "keys": [["keyID": "s1", "privateKey": ["file": pem]] as [String: Any]],
                    ] as [String: Any]
            }
        }

        private func session(_ body: String, token: String? = nil) -> TestRequest {
            var fields = ["Content-Type": "application/json"]
            if let token { fields["Authorization"] = "Bearer \(token)" }
            return TestRequest(method: "POST", target: "/api/v1/auth/session", fields: fields, body: Array(body.utf8))
        }

        private func notification(_ issuer: Issuer, _ type: String, _ subject: String) -> TestRequest {
            let events = #""events":"{\"type\":\"\#(type)\",\"sub\":\"\#(subject)\",\"event_time\":1}""#
            let body = #"{"payload":"\#(issuer.token(Self.apple, events))"}"#
            return TestRequest(
                method: "POST", target: "/api/v1/auth/apple/notifications",
                fields: ["Content-Type": "application/json"], body: Array(body.utf8))
        }

        @Test func `an identity token becomes a session, and that vends, until the user is disabled`() throws {
            let issuer = try Issuer()
            try Stack.run("sign-in", options(issuer)) { stack in
                try stack.waitUntilReady()
                let nonce = SHA256.hash("raw".utf8).hexadecimal
                let identity = issuer.token(issuer.server.url, #""sub":"person","nonce":"\#(nonce)""#)
                #expect(try stack.askNginx(session(#"{"identityToken":"\#(identity)"}"#)).status == 401)
                #expect(try stack.askNginx(.vend(identity)).status == 401)
                let signedIn = try stack.askNginx(session(#"{"identityToken":"\#(identity)","nonce":"raw"}"#))
                #expect(signedIn.status == 200, "\(signedIn.told)\(stack.warnings)")
                let user = try #require(signedIn["userId"])
                let token = Secrets.keep(try #require(signedIn["token"]))
                #expect(try stack.askNginx(.vend(token)).status == 200)
                #expect(try stack.askNginx(session("{}", token: token)).status == 200)

                let keys = try stack.askNginx(.get("/.well-known/jwks.json"))
                #expect(keys.status == 200 && keys.text.contains(#""kid":"s1""#) && !keys.text.contains(#""d":"#))
                #expect(keys.fields["cache-control"] == "public, max-age=900")
                let refused = try stack.askNginx(TestRequest(method: "POST", target: "/.well-known/jwks.json"))
                #expect(refused.status == 405 && refused.fields["cache-control"] == "no-store")
                #expect(signedIn.fields["cache-control"] == "no-store")

                let disabled = try Command(["user", "disable", user, stack.settingsFile])
                #expect(disabled.status == 0, "\(disabled.text)")
                for ask in [
                    TestRequest.vend(token), session("{}", token: token),
                    session(#"{"identityToken":"\#(identity)","nonce":"raw"}"#),
                ] { #expect(try stack.askNginx(ask).status == 403) }
            }
        }

        @Test func `the kit signs in, continues, and vends with what it got`() async throws {
            let issuer = try Issuer()
            try await Stack.run("kit-sign-in", options(issuer)) { stack in
                try stack.waitUntilReady()
                let nonce = SHA256.hash("raw".utf8).hexadecimal
                let identity = issuer.token(issuer.server.url, #""sub":"kit","nonce":"\#(nonce)""#)
                let kit = try Kit(stack, token: "unused")
                let refused = try await cloakroomError {
                    _ = try await kit.client.signIn(identityToken: identity, nonce: "other")
                }
                #expect(refused?.code == .unauthorized && refused?.status == 401)
                let session = try await kit.client.signIn(identityToken: identity, nonce: "raw", deviceID: "phone")
                let later = try await kit.client.continueSession(session, deviceID: "phone")
                for token in [session, later].map({ $0.revealToken() }) {
                    Secrets.keep(token)
                    let vended = try await Kit(stack, token: token).client.vendCredentials()
                    Secrets.keep(vended.revealSecretAccessKey())
                    Secrets.keep(vended.revealSessionToken())
                }
                #expect(later.userID == session.userID && later.expiration >= session.expiration)
            }
        }

        @Test func `the sample signs in with an identity token, keeps the session, and signs out`() throws {
            let issuer = try Issuer()
            try Stack.run("sample-sign-in", options(issuer)) { stack in
                try stack.waitUntilReady()
                let nonce = SHA256.hash("raw".utf8).hexadecimal
                let file = "\(stack.folder)/identity"
                try issuer.token(issuer.server.url, #""sub":"sample","nonce":"\#(nonce)""#)
                    .write(toFile: file, atomically: true, encoding: .utf8)
                let sample = try Sample(signedOut: stack, device: "sample")
                let nginx = try #require(stack.nginx)
                let signIn = [
                    "sign-in", "--endpoint", "http://127.0.0.1:\(nginx.port)", "--s3-endpoint", try EndToEnd.s3().url,
                    "--identity-token-file", file, "--nonce",
                ]
                let refused = try sample.run(signIn + ["other"])
                #expect(refused.status == 1 && refused.text.contains("unauthorized"), "\(refused.text)")
                let signedIn = try sample.run(signIn + ["raw"])
                #expect(signedIn.status == 0 && signedIn.text.contains("signed in as "), "\(signedIn.text)")
                // Without the identity token, in other processes.
                try FileManager.default.removeItem(atPath: file)
                for _ in 0..<2 {
                    let list = try sample.run("list")
                    #expect(list.status == 0 && list.text.isEmpty, "\(list.text)")
                }
                #expect(try !String(contentsOfFile: "\(sample.state)/account.json", encoding: .utf8).contains("token"))
                let signedOut = try sample.run("sign-out")
                #expect(signedOut.text == "signed out; sent 0, kept 0, removed 0\n", "\(signedOut.text)")
                for name in ["account.json", "credentials", "session"] {
                    #expect(!FileManager.default.fileExists(atPath: "\(sample.state)/\(name)"), "\(name)")
                }
                let list = try sample.run("list")
                #expect(list.status == 2 && list.text.contains("not signed in"), "\(list.text)")
            }
        }

        @Test func `Apple's notification ends a user's access; Apple is asked again while Redis is away`() throws {
            let issuer = try Issuer()
            try Stack.run("apple", options(issuer)) { stack in
                try stack.waitUntilReady()
                let identity = issuer.token(Self.apple, #""sub":"001.a""#)
                let signedIn = try stack.askNginx(session(#"{"identityToken":"\#(identity)"}"#))
                let token = Secrets.keep(try #require(signedIn["token"]))
                #expect(try stack.askNginx(.vend(token)).status == 200)
                for type in ["email-disabled", "email-enabled"] {
                    #expect(try stack.askNginx(notification(issuer, type, "001.a")).told == "200 {}")
                }
                #expect(try stack.askNginx(.vend(token)).status == 200)
                // A replay is harmless.
                for _ in 0..<2 {
                    #expect(try stack.askNginx(notification(issuer, "consent-revoked", "001.a")).told == "200 {}")
                }
                #expect(try stack.askNginx(.vend(token)).status == 403)
                stack.redis?.stop()
                #expect(try stack.askNginx(notification(issuer, "account-delete", "001.b")).status == 503)
            }
        }

        @Test func `a flood of unknown kids asks the issuer nothing more`() throws {
            let issuer = try Issuer()
            try Stack.run("kids", options(issuer)) { stack in
                try stack.waitUntilReady()
                let before = issuer.keyFetches
                let flood = try (0..<50).map { number in
                    let key = try TokenSigningKey(.init(pem: Array(TestKeys.rsa.utf8)), keyID: "unknown-\(number)")
                    let claims = #"{"iss":"\#(issuer.server.url)","aud":"app","exp":4000000000,"sub":"x"}"#
                    return TokenSigner(issuer: issuer.server.url, audience: "app", key: key).sign(Array(claims.utf8))
                }
                for token in flood {
                    #expect(try stack.askNginx(session(#"{"identityToken":"\#(token)"}"#)).status == 401)
                }
                #expect(issuer.keyFetches <= before + 1)
            }
        }

        @Test func `an issuer that is away is told in readiness, and costs its users alone`() throws {
            let issuer = try Issuer()
            issuer.server.stop()
            try Stack.run("issuer-away", options(issuer)) { stack in
                let identity = issuer.token(Self.apple, #""sub":"001.a""#)
                let reply = try stack.askNginx(session(#"{"identityToken":"\#(identity)"}"#))
                #expect(reply.status == 503 && reply.fields["retry-after"] != nil)
                #expect(try stack.ask(.ready)["keys"]?.hasPrefix("no keys of ") == true)
                #expect(stack.log.contains(#""reason":"keys_unavailable""#))
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_key_fetches_total", ["outcome": "unreachable"]) > 0)
            }
        }
    }
}
