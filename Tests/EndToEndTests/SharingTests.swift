import Foundation
import Testing

extension EndToEnd {
    /// What two workers share, and what both write down.
    @Suite struct Sharing {
        private static func options(_ change: @escaping (inout TestSettings) -> Void = { _ in }) -> Stack.Options {
            Stack.Options(
                workers: 2, s3: true,
                settings: {
                    $0["vending.credentialCache.shared"] = ["enabled": true, "keys": [["env": "TEST_TOKEN_SECRET"]]]
                    change(&$0)
                })
        }

        @Test func `two workers ask STS once for each user, and their audit has no fault`() throws {
            try Stack.run("sharing", Self.options()) { stack in
                for worker in 1...2 { try stack.waitUntilReady(worker: worker) }
                for user in 1...10 {
                    let token = Tokens.token(user: "u_shared\(user)")
                    let first = try Vended(stack.ask(.vend(token), worker: 1 + user % 2))
                    let second = try Vended(stack.ask(.vend(token), worker: 2 - user % 2))
                    #expect(first.key == second.key)
                }
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_upstream_attempts_total", ["upstream": "sts"]) == 10)
                #expect(metrics.sum("cloakroom_credential_cache_total", ["outcome": "shared"]) == 10)

                let good = try Command(["audit", "verify", stack.auditFile])
                #expect(good.status == 0 && good.text.contains("0 faults in 2 chains"))
                var lines = RunFolder.text(of: stack.auditFile).split(separator: "\n")
                #expect(lines.count == 20)
                lines.remove(at: 7)
                let spoilt = stack.auditFile + ".spoilt"
                try (lines.joined(separator: "\n") + "\n").write(toFile: spoilt, atomically: false, encoding: .utf8)
                let bad = try Command(["audit", "verify", spoilt])
                #expect(bad.status == 1 && bad.text.contains("is missing"))
            }
        }

        @Test func `a user who was revoked gets others from every worker`() throws {
            let options = Self.options {
                $0["server.requestDeadlineMilliseconds"] = 2000
                $0["tokens.leewaySeconds"] = 2
            }
            try Stack.run("sharing-revoked", options) { stack in
                for worker in 1...2 { try stack.waitUntilReady(worker: worker) }
                let token = Tokens.token(user: "u_shared_rev")
                let before = try (1...2).map { try Vended(stack.ask(.vend(token), worker: $0)).key }
                #expect(before[0] == before[1])
                let revoke = ["user", "revoke", "u_shared_rev", "--keep-enabled", stack.settingsFile]
                #expect(try Command(revoke).status == 0)
                #expect(try stack.ask(.vend(token)).status == 401)
                var later = ""
                // Two seconds for requests under way, and the rest of the second after them. Each attempt counts.
                try wait(for: "a token from after the revocation", within: .seconds(10)) {
                    usleep(250_000)
                    later = Tokens.token(user: "u_shared_rev")
                    return try stack.ask(.vend(later)).status == 200
                }
                let after = try (1...2).map { try Vended(stack.ask(.vend(later), worker: $0)).key }
                #expect(after[0] == after[1] && after[0] != before[0])
            }
        }

        @Test func `a worker hands out nothing that another has vended for another scope`() throws {
            try Stack.run("sharing-scopes", Self.options()) { stack in
                for worker in 1...2 { try stack.waitUntilReady(worker: worker) }
                let token = Tokens.token(user: "u_shared_scopes")
                let asks = [TestRequest.vend(token), .vend(token, scope: "read"), .vend(token, scope: "upload")]
                let first = try asks.map { try Vended(stack.ask($0, worker: 1)).key }
                let second = try asks.map { try Vended(stack.ask($0, worker: 2)).key }
                #expect(Set(first).count == 3 && second == first)
            }
        }

        @Test func `an audit in a Redis stream is read again, and nothing is issued without Redis`() throws {
            let options = Self.options {
                $0["audit"] = ["stream": "audit"]
                $0["limits.vend.whenRedisIsAway"] = "open"
                $0["limits.upload.whenRedisIsAway"] = "open"
            }
            try Stack.run("audit-stream", options) { stack in
                for worker in 1...2 { try stack.waitUntilReady(worker: worker) }
                for worker in [1, 2, 1] {
                    #expect(try stack.ask(.presign(Tokens.fresh()), worker: worker).status == 200)
                }
                let good = try Command(["audit", "verify", "--stream", "audit", stack.settingsFile])
                #expect(good.status == 0 && good.text.contains("0 faults in 2 chains"))
                stack.redis?.stop()
                #expect(try stack.ask(.presign(Tokens.fresh())).status == 503)
                #expect(try stack.ask(.vend(Tokens.fresh())).status == 503)
                #expect(Metrics(try stack.ask(.metrics).text).sum("cloakroom_audit_failures_total") == 2)
            }
        }
    }
}
