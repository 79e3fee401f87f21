import Foundation
import Testing

extension EndToEnd {
    /// A Redis that answers but refuses, and one that lets the worker do no more than it must.
    @Suite struct RedisRefusal {
        /// How Redis comes to refuse, and what ends that.
        struct FaultCase: CustomTestStringConvertible, Sendable {
            let code: String
            let begin: [String]
            let end: [String]
            /// Part of the sentence that tells what to do.
            let advice: String

            var testDescription: String { code }
        }

        private static let faults = [
            FaultCase(
                code: "READONLY", begin: ["REPLICAOF 127.0.0.1 9"], end: ["REPLICAOF NO ONE"],
                advice: "point redis.address at the primary"),
            FaultCase(
                code: "NOREPLICAS", begin: ["CONFIG SET min-replicas-to-write 1"],
                end: ["CONFIG SET min-replicas-to-write 0"], advice: "min-replicas-to-write"),
            FaultCase(
                code: "OOM", begin: ["CONFIG SET maxmemory 1"], end: ["CONFIG SET maxmemory 0"],
                advice: "used up maxmemory"),
            FaultCase(
                code: "MISCONF", begin: ["CONFIG SET save \"3600 1\"", "BGSAVE"], end: ["CONFIG SET save \"\""],
                advice: "stopped taking writes"),
            FaultCase(
                code: "NOPERM", begin: ["ACL SETUSER default -incrby"], end: ["ACL SETUSER default +incrby"],
                advice: "run the ACL SETUSER line"),
        ]

        @Test(arguments: faults)
        func `readiness, log and metric have Redis' own word, and say what to do`(_ fault: FaultCase) throws {
            // What MISCONF comes from: no snapshot can replace a folder, not even root's.
            let options = Stack.Options(
                s3: true,
                prepare: {
                    try FileManager.default.createDirectory(
                        atPath: "\($0.folder)/dump.rdb", withIntermediateDirectories: true)
                })
            try Stack.run("redis-refuses-\(fault.code)", options) { stack in
                try stack.waitUntilReady()
                let redis = try #require(stack.redis)
                for command in fault.begin { try redis.command(command) }
                try wait(for: "the word in /readyz", within: .seconds(3)) {
                    _ = try stack.ask(.presign(Tokens.fresh()))
                    let ready = try stack.ask(.ready)
                    return ready.status == 503 && ready.text.contains(#""redis":"\#(fault.code): "#)
                        && ready.text.contains(fault.advice)
                }
                // The next trial of the scripts logs it, half a second later at most.
                try wait(for: "the log line") { !stack.logLines("Redis refuses commands").isEmpty }
                let line = try #require(stack.logLines("Redis refuses commands").last)
                #expect(line["code"] as? String == fault.code)
                #expect((line["advice"] as? String)?.contains(fault.advice) == true)
                let metrics = Metrics(try stack.ask(.metrics).text)
                let counted = metrics.sum("cloakroom_redis_failures_total", ["reason": fault.code.lowercased()])
                #expect(counted >= 1)
                for command in fault.end { try redis.command(command) }
                // Without a request: a load balancer sends none to a worker that is not ready.
                try stack.waitUntilReady()
                #expect(stack.logLines("Redis takes commands again").count == 1)
            }
        }

        /// The lines of the manual that begin so, without the prompt.
        private static func manual(_ start: String) throws -> [String] {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "../../Sources/cloakroom/cloakroom.docc/Redis.md")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            return lines.filter { $0.hasPrefix(start) }
        }

        @Test func `a worker needs just the rights of the manual's ACL line, and the commands those of the next`()
            throws
        {
            let lines = try Self.manual("ACL SETUSER cloakroom")
            // The third is for events.
            #expect(lines.count == 3)
            let password = "acl-test-password"
            let worker = try #require(lines.first).replacing("PASSWORD", with: password)
            let commands = try #require(lines.dropFirst().first)
            let options = Stack.Options(
                s3: true,
                settings: {
                    $0["redis.username"] = "cloakroom"
                    $0["redis.password"] = ["file": "\($0.folder)/redis-password"]
                    $0["redis.database"] = 1
                    $0["vending.credentialCache.shared"] = ["enabled": true, "keys": [["env": "TEST_TOKEN_SECRET"]]]
                    $0["audit"] = ["stream": "audit"]
                    $0["limits.upload.requests"] = 2
                    $0["vending.sharing"] = true
                },
                prepare: { stack in
                    let file = "\(stack.folder)/redis-password"
                    try password.write(toFile: file, atomically: false, encoding: .utf8)
                    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
                    #expect(try stack.redis?.command(worker) == ["OK"])
                })
            try Stack.run("redis-acl", options) { stack in
                let redis = try #require(stack.redis)
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_acl")
                #expect(try stack.ask(.vend(token)).status == 200)
                #expect(try stack.ask(.renew(token, ["gone.bin"])).status == 200)
                #expect(try (1...3).map { _ in try stack.ask(.presign(token)).status } == [200, 200, 429])
                for words in [["set", "u_acl", "--tier", "free"], ["enable", "u_acl"]] {
                    let run = try Command(["user"] + words + [stack.settingsFile])
                    #expect(run.status == 0, "\(run.text)")
                }
                #expect(try redis.command("ACL LOG") == [])
                // No right is there in vain.
                let rights = worker.split(separator: " ").filter { $0.hasPrefix("+") }.map { $0.dropFirst() }
                let statistics = "return (string.gsub(redis.call('INFO', 'commandstats'), '%c+', ' '))"
                let used = try redis.command("EVAL \"\(statistics)\" 0").joined()
                for right in rights { #expect(used.contains("cmdstat_\(right):"), "\(right)") }
                #expect(try redis.command("ACL WHOAMI") == ["default"])

                #expect(try redis.command(commands) == ["OK"])
                let shared = ["u_acl", "--with", "u_friend", "--prefix", "photos/u_acl/a/"]
                for words in [
                    ["user", "share"] + shared + ["--until", "+1d"], ["user", "shares", "u_friend"],
                    ["user", "unshare"] + shared, ["user", "share"] + shared + ["--until", "+1d"],
                    ["user", "revoke", "u_friend", "--keep-enabled"],
                    ["user", "share"] + shared + ["--until", "+1d"],
                    ["user", "disable", "u_acl"], ["user", "get", "u_acl"], ["user", "list"],
                    ["user", "delete", "u_acl"],
                    ["audit", "verify", "--stream", "audit"],
                    ["doctor", "--only", "redis", "--settings"],
                ] {
                    let run = try Command(words + [stack.settingsFile])
                    if words[0] == "user" { #expect(run.status == 0, "\(words): \(run.text)") }
                    #expect(run.text.contains("NOPERM") == false && run.text.contains("noperm") == false, "\(run.text)")
                }
                #expect(try redis.command("ACL LOG") == [])
                #expect(try redis.command(try #require(lines.last)) == ["OK"])
            }
        }
    }
}
