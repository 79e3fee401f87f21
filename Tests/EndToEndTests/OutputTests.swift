import Foundation
import Testing

extension EndToEnd {
    /// FAULTS rows 14 and 15: nothing left to write to, nothing left to open.
    @Suite struct Outputs {
        @Test func `without an audit line nothing is issued, and all else goes on`() throws {
            try Stack.run("audit-full", .init(s3: true) { $0["audit.file"] = "/dev/full" }) { stack in
                try stack.waitUntilReady()
                let token = Tokens.fresh()
                for ask in [TestRequest.vend(token), .presign(token), .vend(token)] {
                    let reply = try stack.ask(ask)
                    #expect(reply.told == #"503 {"error":"Temporarily unavailable","code":"unavailable"}"#)
                    #expect(reply.fields["retry-after"] == "5")
                }
                #expect(try stack.ask(.renew(token, ["gone.bin"])).status == 200)
                #expect(try stack.ask(.health).status == 200)
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_audit_failures_total") == 3)
                #expect(metrics.sum("cloakroom_issued_total") == 0)
                #expect(stack.logLines("audit line could not be written; nothing was issued").count == 3)
            }
        }

        @Test(arguments: [#"exec "$@" 2>&-"#, #"exec "$@" 2>/dev/full"#])
        func `without a standard error to write the audit to, nothing is issued`(_ shell: String) throws {
            let options = Stack.Options(shell: shell, settings: { $0["audit.file"] = nil })
            try Stack.run("audit-closed", options) { stack in
                for _ in 1...3 { #expect(try stack.ask(.presign(Tokens.fresh())).status == 503) }
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_audit_failures_total") == 3)
                #expect(metrics.sum("cloakroom_issued_total") == 0)
            }
        }

        @Test func `what is issued stands in the audit file`() throws {
            try Stack.run("audit", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.token(user: "u_audit", device: "d_audit", tier: "gold")
                let vended = try Vended(stack.ask(.vend(token)))
                let upload = try stack.ask(.presign(token))
                let lines = RunFolder.text(of: stack.auditFile).split(separator: "\n").compactMap {
                    try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                }
                func all(_ name: String) -> [String?] { lines.map { $0[name] as? String } }
                #expect(all("kind") == ["credentials", "upload"])
                #expect(all("accessKeyId") == [vended.key, nil] && all("objectKey") == [nil, upload["objectKey"]])
                for (name, value) in [
                    ("audit", "issued"), ("user", "u_audit"), ("device", "d_audit"), ("tier", "gold"),
                ] { #expect(all(name) == [value, value]) }
                // The log follows the answer.
                try wait(for: "the same request ids in the log", within: .seconds(5)) {
                    let requests = stack.logLines("request").filter { $0["user"] as? String == "u_audit" }
                    return all("request") == requests.map { $0["request"] as? String }
                }
            }
        }

        @Test func `an audit file that was removed is made anew, though nothing is issued meanwhile`() throws {
            try Stack.run("audit-removed", .init()) { stack in
                try FileManager.default.removeItem(atPath: stack.auditFile)
                try wait(for: "the file", within: .seconds(15)) {
                    FileManager.default.fileExists(atPath: stack.auditFile)
                }
                #expect(try stack.ask(.presign(Tokens.fresh())).status == 200)
                #expect(!RunFolder.text(of: stack.auditFile).isEmpty)
            }
        }

        @Test(arguments: [#"exec "$@" 2>&-"#, #"exec "$@" 2>/dev/full"#, #"exec "$@" <&- >&- 2>&-"#])
        func `it serves without a place for its log, and counts the lines that are lost`(_ shell: String) throws {
            try Stack.run("log-lost", .init(shell: shell)) { stack in
                let worker = try #require(stack.server)
                for _ in 1...20 { #expect(try stack.ask(.presign(Tokens.fresh())).status == 200) }
                let dropped = Metrics(try stack.ask(.metrics).text).sum("cloakroom_log_lines_dropped_total")
                #expect(dropped >= 20)
                #expect(ProcessTable.cpuTime(worker.pid) < 1500)
            }
        }

        @Test func `a log that nobody reads holds up no request`() throws {
            var reader: Int32 = -1
            let options = Stack.Options(
                shell: #"exec "$@" 2>"$(dirname "$5")/log.fifo""#,
                prepare: { stack in
                    let path = "\(stack.folder)/log.fifo"
                    mkfifo(path, 0o600)
                    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                })
            defer { close(reader) }
            try Stack.run("log-stuck", options) { stack in
                let client = try FastCGIClient(path: stack.socket())
                let durations = try (0..<2000).map { _ in
                    let (reply, duration) = try timed { try client.ask(.get("/nowhere")) }
                    #expect(reply.status == 404)
                    return duration
                }
                #expect(durations.sorted()[1990] < 50)
                let dropped = Metrics(try stack.ask(.metrics).text).sum("cloakroom_log_lines_dropped_total")
                #expect(dropped > 100)
            }
        }

        @Test func `without free descriptors it waits instead of spinning, and serves again afterwards`() throws {
            try Stack.run("descriptors", .init(shell: #"ulimit -n 64; exec "$@""#)) { stack in
                let worker = try #require(stack.server)
                let early = try FastCGIClient(path: stack.socket())
                #expect(try early.ask(.health).status == 200)
                var crowd = try (0..<200).map { _ in try FastCGIClient(path: stack.socket()) }
                let before = ProcessTable.cpuTime(worker.pid)
                let start = milliseconds()
                while milliseconds() - start < 1500 {
                    #expect(try early.ask(.presign(Tokens.fresh())).status == 200)
                    usleep(50_000)
                }
                #expect(ProcessTable.cpuTime(worker.pid) - before < 600)
                crowd.removeAll()
                try wait(for: "serving again", within: .seconds(2)) {
                    (try? stack.ask(.presign(Tokens.fresh())))?.status == 200
                }
            }
        }
    }
}
