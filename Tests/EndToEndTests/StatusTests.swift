import CloakroomJSON
import Foundation
import Testing

extension EndToEnd {
    /// What `/status` and `cloakroom status` tell of workers that run.
    @Suite struct Status {
        private static func object(_ bytes: [UInt8]) throws -> JSON.Object {
            try #require(try JSON(parsing: bytes).object)
        }

        private static func processes(_ status: JSON.Object) -> Set<Int> {
            Set(status["workers"]?.array?.compactMap { $0.object?["process"]?.integer } ?? [])
        }

        @Test func `whichever worker is asked tells of all, and of one that has ended no more`() throws {
            let options = Stack.Options(workers: 2, nginx: true) { $0["server.metricsFolder"] = nil }
            try Stack.run("status", options) { stack in
                func status(_ worker: Int) throws -> JSON.Object {
                    try Self.object(stack.ask(.get("/status"), worker: worker).body)
                }
                // One that is being replaced may refuse a connection.
                func tellsOfAll(_ worker: Int) -> Bool {
                    (try? Self.processes(status(worker))) == Set(stack.workers.map { Int($0) })
                }
                try wait(for: "both") { [1, 2].allSatisfy(tellsOfAll) }
                for number in [1, 2, 2] {
                    #expect(try stack.ask(.presign(Tokens.fresh()), worker: number).status == 200)
                }
                // What another worker counted shows a second later.
                try wait(for: "the counts of both") {
                    try [1, 2].allSatisfy {
                        try status($0)["all"]?.object?["minute"]?.object?["requests"]?.integer == 3
                    }
                }
                #expect(try stack.askNginx(TestRequest(method: "HEAD", target: "/status")).status == 200)

                // One that was told to stop takes its status away; one that is killed leaves it for half a minute.
                kill(try #require(stack.workers.first), SIGTERM)
                try wait(for: "the one in its place", within: .seconds(10)) {
                    stack.workers.count == 2 && [1, 2].allSatisfy(tellsOfAll)
                }

                let command = try Command(["status", "--listen", "unix:\(stack.folder)/worker-%d.sock", "--json"])
                #expect(command.status == 0, "\(command.text)")
                let whole = try Self.object(Array(command.text.utf8))
                #expect(whole["supervisor"]?.object?["workers"]?.array?.count == 2)
                #expect(whole["status"]?.object?["workers"]?.array?.count == 2)
                for text in [Tokens.fresh(), "u_1"] { #expect(!command.text.contains(text)) }
            }
        }

        @Test func `a trace goes through nginx into the log and the audit`() throws {
            try Stack.run("trace", .init(nginx: true)) { stack in
                let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
                // The second is not of the form that it takes.
                let values = ["00-\(trace)-00f067aa0ba902b7-01", "00-\(trace)-x\"}"]
                for (index, value) in values.enumerated() {
                    var request = TestRequest.presign(Tokens.fresh())
                    request.fields["traceparent"] = value
                    let status = try stack.askNginx(request).status
                    #expect(status == 200)
                    // A line is written when the turn of the loop ends, after the response.
                    func presigned() -> [[String: Any]] {
                        stack.logLines("request").filter { $0["route"] as? String == "/v2/attachments/presigned" }
                    }
                    try wait(for: "the line", within: .seconds(5)) { presigned().count == index + 1 }
                    let lines = presigned().filter { $0["trace"] as? String == trace }
                    #expect(lines.count == 1, "\(value)")
                }
                let audit = RunFolder.text(of: stack.auditFile)
                #expect(audit.contains("\"trace\":\"\(trace)\""))
            }
        }
    }
}
