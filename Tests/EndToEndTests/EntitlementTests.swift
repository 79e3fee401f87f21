import Foundation
import CloakroomTestSupport
import Synchronization
import Testing

extension EndToEnd {
    /// What an operator decides about a user counts with the very next request, cached credentials or not.
    @Suite struct Entitlements {
        /// A command that must succeed.
        private func user(_ stack: Stack, _ words: String...) throws {
            let command = try Command(["user"] + words + [stack.settingsFile])
            #expect(command.status == 0, "\(words): \(command.text)")
        }

        private static let disabled = #"403 {"error":"User disabled","code":"user_disabled"}"#
        private static let unpaid = #"403 {"error":"Active subscription required","code":"subscription_required"}"#
        private static let full = #"403 {"error":"Storage quota exceeded","code":"storage_quota_exceeded"}"#

        @Test func `a disabled user has nothing with the next request, an enabled one has it back`() throws {
            try Stack.run("disable", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_dis", device: "dis")
                let first = try Vended(stack.ask(.vend(token)))
                #expect(try Vended(stack.ask(.vend(token))).key == first.key)
                try user(stack, "disable", "u_dis", "--reason", "test")
                for ask in [TestRequest.vend(token), .presign(token), .renew(token, ["gone.bin"])] {
                    let reply = try stack.ask(ask)
                    #expect(reply.told == Self.disabled)
                    #expect(reply.fields["ratelimit"] != nil)
                }
                #expect(try stack.ask(.vend(Tokens.token(user: "u_dis2", device: "dis"))).status == 200)
                try user(stack, "enable", "u_dis")
                #expect(try Vended(stack.ask(.vend(token))).key == first.key)
                #expect(
                    Metrics(try stack.ask(.metrics).text).sum("cloakroom_entitlement_refusals_total") == 3)
            }
        }

        @Test func `enabling a user without a record makes none`() throws {
            try Stack.run("enable", .init(s3: true) { $0["entitlements.withoutRecord"] = "refuse" }) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_typo")
                #expect(try stack.ask(.vend(token)).status == 403)
                let command = try Command(["user", "enable", "u_typo", stack.settingsFile])
                #expect(command.status == 1 && command.text.contains("there is no record of u_typo"), "\(command.text)")
                #expect(try stack.ask(.vend(token)).status == 403)
                for word in ["disable", "enable"] { try user(stack, word, "u_typo") }
                #expect(try stack.ask(.vend(token)).status == 200)
            }
        }

        @Test func `revoked credentials are not handed out again, nor after the user is enabled`() throws {
            let options = Stack.Options(s3: true) {
                $0["server.requestDeadlineMilliseconds"] = 2000
                $0["tokens.leewaySeconds"] = 2
            }
            try Stack.run("revoke", options) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_rev", device: "rev")
                let first = try Vended(stack.ask(.vend(token)))
                let command = try Command(["user", "revoke", "u_rev", stack.settingsFile])
                #expect(command.status == 0)
                #expect(command.text.contains(#""StringEquals":{"aws:PrincipalTag/UserId":["u_rev"]}"#))
                #expect(try stack.ask(.vend(token)).told == Self.disabled)
                try user(stack, "enable", "u_rev")
                #expect(
                    try stack.ask(.vend(token)).told == #"401 {"error":"Session revoked","code":"session_revoked"}"#)
                var later: TestResponse?
                try wait(for: "a token from after the revocation", within: .seconds(10)) {
                    usleep(100_000)
                    later = try stack.ask(.vend(Tokens.token(user: "u_rev", device: "rev")))
                    return later?.status == 200
                }
                #expect(try Vended(#require(later)).key != first.key)
            }
        }

        @Test func `a revocation is applied to every role, together with earlier ones`() throws {
            let policy = Mutex<String?>(nil)
            let iam = try HTTPServer { request in
                let form = String(decoding: request.body, as: UTF8.self)
                if let document = form.components(separatedBy: "&PolicyDocument=").dropFirst().first {
                    policy.withLock { $0 = document }
                    return Self.answer(200, "<PutRolePolicyResponse/>")
                }
                guard let text = policy.withLock({ $0 }) else {
                    return Self.answer(404, "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>")
                }
                let result = "<GetRolePolicyResult><PolicyDocument>\(text)</PolicyDocument></GetRolePolicyResult>"
                return Self.answer(200, "<GetRolePolicyResponse>\(result)</GetRolePolicyResponse>")
            }
            let former = "arn:aws:iam::000000000000:role/teams/cloakroom-former"
            let options = Stack.Options(s3: true) { settings in
                settings["aws.iamEndpoint"] = iam.url
                settings["vending.roles"] = [["name": "former", "roleARN": former, "retired": true] as [String: Any]]
            }
            try Stack.run("apply", options) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_app")
                #expect(try stack.ask(.vend(token)).status == 200)
                for user in ["u_app", "u_app2"] { try self.user(stack, "revoke", user, "--apply") }
                #expect(try stack.ask(.vend(token)).told == Self.disabled)
                let text = try #require(policy.withLock { $0 }?.removingPercentEncoding)
                #expect(text.contains("u_app\"") && text.contains("u_app2\""))
                let forms = iam.requests.map { String(decoding: $0.body, as: UTF8.self) }
                let put = "Action=PutRolePolicy&Version=2010-05-08&RoleName="
                let written = forms.filter { $0.hasPrefix(put) }.map { $0.dropFirst(put.count).prefix { $0 != "&" } }
                let both: [Substring] = ["cloakroom-app", "cloakroom-former"]
                #expect(written == both + both, "each role that sessions may be of, for each user")
                #expect(
                    iam.requests.allSatisfy { $0["authorization"]?.contains("/us-east-1/iam/aws4_request") == true })
                // IAM refuses: vending is stopped all the same, and the command says so.
                policy.withLock { $0 = "%7B%22Statement%22%3A%5B%7B%7D%5D%7D" }
                let foreign = try Command(["user", "revoke", "u_app3", "--apply", stack.settingsFile])
                #expect(foreign.status == 1 && foreign.text.contains("vending is stopped, but"))
                #expect(try stack.ask(.vend(Tokens.token(user: "u_app3"))).told == Self.disabled)
            }
        }

        /// Of as many users as have a time of their own: the next revocation makes all share its time.
        private static func fullPolicy() -> String? {
            let start = Date().addingTimeInterval(-3600)
            let statements = (0..<34).map { number in
                let time = start.addingTimeInterval(Double(number)).formatted(.iso8601)
                return #"{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEquals":"#
                    + #"{"aws:PrincipalTag/UserId":["u_again\#(number)"]},"#
                    + #""DateLessThan":{"aws:TokenIssueTime":"\#(time)"}}}"#
            }
            return #"{"Version":"2012-10-17","Statement":[\#(statements.joined(separator: ","))]}"#
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        }

        @Test func `credentials of users let in again are dropped once their sessions are denied with those of others`()
            throws
        {
            let policy = try #require(Self.fullPolicy())
            let iam = try HTTPServer { request in
                String(decoding: request.body, as: UTF8.self).contains("&PolicyDocument=")
                    ? Self.answer(200, "<PutRolePolicyResponse/>")
                    : Self.answer(
                        200,
                        "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>\(policy)</PolicyDocument>"
                            + "</GetRolePolicyResult></GetRolePolicyResponse>")
            }
            let options = Stack.Options(s3: true) { settings in
                settings["aws.iamEndpoint"] = iam.url
                settings["vending.credentialCache.shared"] = ["enabled": true, "keys": [["env": "TEST_TOKEN_SECRET"]]]
                // The command waits for the longer of them.
                settings["server.requestDeadlineMilliseconds"] = 2000
                settings["tokens.leewaySeconds"] = 2
            }
            try Stack.run("shared-time", options) { stack in
                try stack.waitUntilReady()
                for user in ["u_again0", "u_other"] {
                    #expect(try stack.ask(.vend(Tokens.token(user: user))).status == 200)
                }
                let redis = try #require(stack.redis)
                #expect(try redis.command("KEYS cloakroom:cred:*").count == 2)
                let command = try Command(["user", "revoke", "u_last", "--apply", stack.settingsFile])
                #expect(command.status == 0, "\(command.text)")
                #expect(command.text.contains("sessions that 34 of them may have had since their own revocation"))
                #expect(command.text.contains("1 credentials that workers kept in Redis for these users are dropped"))
                #expect(command.text.contains("replace the workers (SIGHUP to the supervisor)"))
                let kept = try redis.command("KEYS cloakroom:cred:*")
                #expect(kept.count == 1 && kept.allSatisfy { $0.hasPrefix("cloakroom:cred:{u_other}:") }, "\(kept)")
            }
        }

        /// IAM's requests name a role without its account: with these credentials they would change the worker's own.
        @Test func `a role of another account is not written to, the others are`() throws {
            let iam = try HTTPServer { request in
                String(decoding: request.body, as: UTF8.self).contains("&PolicyDocument=")
                    ? Self.answer(200, "<PutRolePolicyResponse/>")
                    : Self.answer(404, "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>")
            }
            let other = "arn:aws:iam::210987654321:role/cloakroom-app"
            let options = Stack.Options(s3: true) { settings in
                settings["aws.iamEndpoint"] = iam.url
                settings["vending.roles"] = [["name": "second", "roleARN": other, "retired": true] as [String: Any]]
            }
            try Stack.run("other-account", options) { stack in
                try stack.waitUntilReady()
                let command = try Command(["user", "revoke", "u_acc", "--apply", stack.settingsFile])
                #expect(command.status == 1, "\(command.text)")
                #expect(command.text.contains("the role \(SeaweedFS.role) denies their older sessions"))
                #expect(command.text.contains("the role \(other) from before are not denied"))
                #expect(command.text.contains("the credentials are of the account 000000000000"))
                let forms = iam.requests.map { String(decoding: $0.body, as: UTF8.self) }
                #expect(forms.map { $0.prefix { $0 != "&" } } == ["Action=GetRolePolicy", "Action=PutRolePolicy"])
                #expect(try stack.ask(.vend(Tokens.token(user: "u_acc"))).told == Self.disabled)
            }
        }

        @Test func `a revocation goes on without the rights to drop credentials and to tell the time, and says so`()
            throws
        {
            try Stack.run("revoke-rights", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                try stack.redis?.command("ACL SETUSER default -scan -info")
                let command = try Command(["user", "revoke", "u_rights", stack.settingsFile])
                #expect(command.status == 0, "\(command.text)")
                #expect(command.text.contains("there was no record of u_rights, and one is made"))
                #expect(command.text.contains("the record of u_rights is changed, but credentials that workers keep"))
                #expect(command.text.contains("refuses with NOPERM; the Redis user lacks a right"))
                #expect(command.text.contains("Redis does not tell its time"))
                #expect(command.text.contains(#""aws:PrincipalTag/UserId":["u_rights"]"#))
                #expect(command.text.contains("Name it cloakroom-revocation-u_rights, and not cloakroom-revocations"))
                #expect(try stack.ask(.vend(Tokens.token(user: "u_rights"))).told == Self.disabled)
            }
        }

        @Test func `a record is not deleted while it has to tell of a revocation`() throws {
            try Stack.run("delete-revoked", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_del")
                #expect(try stack.ask(.vend(token)).status == 200)
                try user(stack, "revoke", "u_del", "--keep-enabled")
                let refused = try Command(["user", "delete", "u_del", stack.settingsFile])
                #expect(refused.status == 1 && refused.text.contains("nothing is deleted: u_del was revoked"))
                #expect(try stack.ask(.vend(token)).status == 401)
                #expect(refused.text.contains("tokens of \(Tokens.issuer) may live longer"))
                let forgotten = try Command(["user", "delete", "u_del", "--forget-revocation", stack.settingsFile])
                #expect(forgotten.status == 0 && forgotten.text.contains("no longer counts as revoked"))
                #expect(try stack.ask(.vend(token)).status == 200)
                try user(stack, "disable", "u_del")
                try user(stack, "delete", "u_del")
            }
        }

        @Test func `where subjects are mapped, a user is named by the subject or by the id that it becomes`() throws {
            let options = Stack.Options(s3: true) { settings in
                settings["tokens.issuers"] = [
                    [
                        "issuer": Tokens.issuer, "audiences": ["cloakroom"], "algorithms": ["HS256"],
                        "secret": ["env": "TEST_TOKEN_SECRET"], "subjects": "mapped",
                    ] as [String: Any]
                ]
            }
            try Stack.run("mapped", options) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "alice")
                for word in ["disable", "revoke"] {
                    let command = try Command(["user", word, "alice", stack.settingsFile])
                    #expect(command.status == 2 && command.text.contains("no token can be of the user alice"))
                }
                #expect(try stack.ask(.vend(token)).status == 200)
                let command = try Command(["user", "disable", "--subject", "alice", stack.settingsFile])
                #expect(command.status == 0 && command.text.contains("the user is u_"), "\(command.text)")
                #expect(try stack.ask(.vend(token)).told == Self.disabled)
                try user(stack, "enable", "--subject", "alice", "--issuer", Tokens.issuer)
                #expect(try stack.ask(.vend(token)).status == 200)
            }
        }

        private static func answer(_ status: Int, _ body: String) -> [HTTPServer.Step] {
            [.send(Array("HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))]
        }

        @Test(arguments: [
            [], ["frob"], ["set", "u_1"], ["set", "u_1", "--tier", "two words"], ["set", "u/1", "--tier", "pro"],
            ["set", "u_1", "--subscription-end", "tomorrow"], ["set", "u_1", "--storage-limit", "-1"],
            ["set", "u_1", "--storage-used", "9999999999999T"], ["set", "u_1", "--storage-used", "unlimited"],
            ["get"], ["get", "u_1", "u_2"], ["disable", "u_1", "--reason", "a\nb"], ["list", "--limit", "0"],
            ["list", "--cursor", "x"], ["list", "--prefix", "u*"], ["revoke", "--frob"],
        ])
        func `a command line that cannot be meant changes nothing`(words: [String]) throws {
            let folder = try RunFolder.make("usage")
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: "\(folder)/s.json5")
            let command = try Command(["user"] + words + (words.isEmpty ? [] : ["\(folder)/s.json5"]))
            #expect(command.status == 2 && command.text.contains("see: cloakroom user"), "\(command.text)")
        }

        @Test func `tiers, subscriptions and storage limits are held`() throws {
            let tiers: [String: Any] = [
                "free": ["limits": ["vend": 3], "storageLimitBytes": 1000] as [String: Any],
                "pro": ["requiresSubscription": true, "lifetimeSeconds": 900] as [String: Any],
            ]
            try Stack.run("tiers", .init(s3: true) { $0["tiers"] = tiers }) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_tier", device: "tier")
                var reply = try stack.ask(.vend(token))
                #expect(reply.status == 200)
                #expect(reply.fields["ratelimit-policy"]?.hasPrefix("\"vend\";q=3;w=3600,") == true)
                try user(stack, "set", "u_tier", "--tier", "pro")
                reply = try stack.ask(.vend(token))
                #expect(reply.told == Self.unpaid)
                #expect(reply.fields["ratelimit-policy"]?.hasPrefix("\"vendAll\";q=600;w=3600,") == true)
                #expect(try stack.ask(.presign(token)).told == Self.unpaid)
                #expect(try stack.ask(.renew(token, ["gone.bin"])).status == 200)
                try user(stack, "set", "u_tier", "--subscription-end", "+1h")
                reply = try stack.ask(.vend(token))
                let vended = try Vended(reply)
                let expiration = try #require((reply.json["credentials"] as? [String: String])?["expiration"])
                let end = try Date(expiration, strategy: .iso8601)
                #expect(end.timeIntervalSinceNow < 901 && !vended.key.isEmpty)
                try user(stack, "set", "u_tier", "--storage-limit", "5", "--storage-used", "5")
                #expect(try stack.ask(.vend(token)).told == Self.full)
                #expect(try stack.ask(.presign(token)).told == Self.full)
                var form = TestRequest.presign(token)
                (form.method, form.target) = ("POST", "/v2/attachments/presigned-post")
                (form.fields["Content-Type"], form.body) = (
                    "application/json", Array(#"{"contentType":"image/png"}"#.utf8)
                )
                #expect(try stack.ask(form).told == Self.full)
                #expect(try stack.ask(.vend(token, scope: "read")).status == 200)
                try user(stack, "set", "u_tier", "--storage-limit", "6")
                #expect(try stack.ask(.vend(token)).status == 200)
                #expect(try Command(["user", "set", "u_tier", "--tier", "gold", stack.settingsFile]).status == 2)
            }
        }

        /// Its bytes were counted when it began; what is full since then takes no more.
        @Test func `a full user goes on with no upload that was begun before`() throws {
            try Stack.run("full", .init(s3: true) { $0["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]] }) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_full")
                func post(_ target: String, _ body: String) -> TestRequest {
                    TestRequest(
                        method: "POST", target: target,
                        fields: ["X-Convos-AuthToken": token, "Content-Type": "application/json"],
                        body: Array(body.utf8))
                }
                let begun = try stack.ask(post("/v2/uploads", #"{"contentType":"video/mp4","contentLength":3}"#))
                let upload = "/v2/uploads/\(try #require(begun["uploadId"], "\(begun.told)"))"
                #expect(try stack.ask(.get("\(upload)/parts?numbers=1", token: token)).status == 200)
                try user(stack, "set", "u_full", "--storage-limit", "5", "--storage-used", "5")
                #expect(try stack.ask(.get("\(upload)/parts?numbers=1", token: token)).told == Self.full)
                #expect(try stack.ask(post("\(upload)/complete", "{}")).told == Self.full)
                // Giving it up frees room.
                let giveUp = TestRequest(method: "DELETE", target: upload, fields: ["X-Convos-AuthToken": token])
                #expect(try stack.ask(giveUp).status == 200)
            }
        }

        @Test func `a record that cannot be read closes, and is told of as an error`() throws {
            try Stack.run("malformed", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                let redis = try #require(stack.redis)
                try redis.command("HSET cloakroom:user:{u_bad} updated 1 storageUsed much")
                let token = Tokens.token(user: "u_bad")
                for ask in [TestRequest.vend(token), .presign(token), .renew(token, ["gone.bin"])] {
                    #expect(try stack.ask(ask).status == 500)
                }
                try wait(for: "the log's lines") {
                    let lines = stack.logLines("request").filter { $0["reason"] as? String == "malformed_record" }
                    return lines.count == 3 && lines.allSatisfy { $0["level"] as? String == "error" }
                }
                let shown = try Command(["user", "get", "u_bad", stack.settingsFile])
                #expect(shown.status == 1 && shown.text.contains("storageUsed holds what no command writes"))
                try user(stack, "set", "u_bad", "--storage-used", "none")
                #expect(try stack.ask(.vend(token)).status == 200)
            }
        }

        /// FAULTS row 3.
        @Test func `a flushed Redis brings back the defaults, or refuses, as the settings say`() throws {
            for (setting, status) in [("default", 200), ("refuse", 403)] {
                try Stack.run(
                    "flush-\(setting)", .init(s3: true) { $0["entitlements.withoutRecord"] = setting }
                ) { stack in
                    try stack.waitUntilReady()
                    let token = Tokens.token(user: "u_flush")
                    try user(stack, "set", "u_flush", "--tier", "pro")
                    #expect(try stack.ask(.vend(token)).status == 200)
                    try stack.redis?.command("FLUSHALL")
                    #expect(try stack.ask(.vend(token)).status == status)
                }
            }
        }

        @Test func `commands say what is wrong when Redis is away`() throws {
            try Stack.run("away", .init(redis: false)) { stack in
                for words in [["get", "u_1"], ["disable", "u_1"], ["list"], ["revoke", "u_1"]] {
                    let command = try Command(["user"] + words + [stack.settingsFile])
                    #expect(command.status == 1 && command.text.contains("Redis at unix:"), "\(words) \(command.text)")
                }
            }
        }

        @Test func `a scan counts what users have stored, and goes on when it is interrupted`() throws {
            let tiers = ["free": ["storageLimitBytes": 7]]
            try Stack.run("usage", .init(s3: true) { $0["tiers"] = tiers }) { stack in
                try stack.waitUntilReady()
                let s3 = try EndToEnd.s3()
                for (key, size) in [
                    ("photos/s_1/a.jpg", 10), ("photos/s_1/b.jpg", 5), ("thumbnails/s_1/a.jpg", 3),
                    ("photos/s_10/a.jpg", 7), ("metadata/s_2/a.json", 2), ("photos/loose.jpg", 90),
                ] {
                    try s3.put(key, String(repeating: "x", count: size))
                }
                let state = "\(stack.folder)/usage.state"
                try user(stack, "set", "s_1", "--storage-limit", "18")
                try user(stack, "set", "s_gone", "--storage-used", "99")
                let rate = ["--requests-per-second", "1000"]
                // What an interrupted scan leaves: one page, and a line that was cut off.
                let store = #""endpoint":"\#(s3.url)/photos","region":"\#(SeaweedFS.region)""#
                let head = #"{"bucket":"photos",\#(store),"prefixes":["photos","thumbnails","metadata"]"#
                let left = """
                    \(head),"started":"\(Date().formatted(.iso8601))"}
                    {"prefix":0,"objects":1,"last":true,"key":"photos/s_10/a.jpg","bytes":{"s_1":15,"s_10":7}}
                    {"prefix":1,"obj
                    """
                try left.write(toFile: state, atomically: false, encoding: .utf8)
                let scan = try Command(["usage", "scan"] + rate + ["--state", state, stack.settingsFile])
                #expect(scan.status == 0, "\(scan.text)")
                #expect(scan.text.contains("going on with \(state)"))
                #expect(!FileManager.default.fileExists(atPath: state))
                let redis = try #require(stack.redis)
                for (user, expected) in [("s_1", "18"), ("s_10", "7"), ("s_2", "2"), ("s_gone", "0")] {
                    #expect(try redis.command("HGET cloakroom:user:{\(user)} storageUsed") == [expected], "\(user)")
                }
                #expect(try stack.ask(.vend(Tokens.token(user: "s_1"))).told == Self.full)
                // Without a record the tier's limit holds, and the scan makes none.
                #expect(try stack.ask(.vend(Tokens.token(user: "s_10"))).told == Self.full)
                #expect(try stack.ask(.presign(Tokens.token(user: "s_10"))).told == Self.full)
                #expect(try stack.ask(.vend(Tokens.token(user: "s_2"))).status == 200)
                let unknown = try Command(["user", "get", "s_10", stack.settingsFile])
                #expect(unknown.status == 1 && unknown.text.contains("there is no record of s_10"))
                // From the start, with the objects themselves: the sums of a complete scan two days ago are not taken.
                try redis.command("DEL cloakroom:user:{s_10}")
                let old = """
                    \(head),"started":"\(Date(timeIntervalSinceNow: -2 * 86_400).formatted(.iso8601))"}
                    {"prefix":0,"objects":1,"last":true,"key":"photos/s_10/a.jpg","bytes":{"s_1":1000,"s_10":1000}}
                    {"prefix":1,"objects":0,"last":true,"bytes":{}}
                    {"prefix":2,"objects":0,"last":true,"bytes":{}}

                    """
                try old.write(toFile: state, atomically: false, encoding: .utf8)
                let again = try Command(["usage", "scan"] + rate + ["--state", state, stack.settingsFile])
                #expect(again.status == 0 && again.text.contains("beginning anew"), "\(again.text)")
                #expect(try redis.command("HGET cloakroom:user:{s_10} storageUsed") == ["7"])
                #expect(try redis.command("HGET cloakroom:user:{s_1} storageUsed") == ["18"])
                try redis.command("HSET cloakroom:user:{s_1} storageUsed 0")
                #expect(try Command(["usage", "scan", "--user", "s_1", stack.settingsFile]).status == 0)
                #expect(try redis.command("HGET cloakroom:user:{s_1} storageUsed") == ["18"])
                try "{}\n".write(toFile: state, atomically: false, encoding: .utf8)
                let other = try Command(["usage", "scan", "--state", state, stack.settingsFile])
                #expect(other.status == 1 && other.text.contains("belongs to a scan of something else"))
            }
        }
    }
}
