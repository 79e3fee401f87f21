import Foundation
import Testing

extension EndToEnd {
    /// FAULTS rows 4, 22 and 23, as far as real parts can provoke them.
    @Suite struct Upstreams {
        @Test func `an S3 that hangs delays those who need it, up to the deadline, and nobody else`() throws {
            let upstream = try SlowUpstream()
            defer { upstream.stop() }
            let options = Stack.Options {
                $0["aws.s3Endpoint"] = upstream.url
                $0["aws.timeoutMilliseconds"] = 300
                $0["server.requestDeadlineMilliseconds"] = 1000
                $0["redis.timeoutMilliseconds"] = 500
            }
            try Stack.run("hanging-s3", options) { stack in
                let clients = try (0..<20).map { _ in
                    let client = try FastCGIClient(path: stack.socket())
                    try client.socket.send(FastCGIClient.request(.renew(Tokens.fresh(), ["a.bin", "b.bin"])))
                    return client
                }
                let start = milliseconds()
                let token = Tokens.fresh()
                let durations = try (0..<50).map { _ in
                    let (reply, duration) = try timed { try stack.ask(.presign(token)) }
                    #expect(reply.status == 200)
                    return duration
                }
                #expect(durations.sorted()[25] < 20)
                for client in clients {
                    let reply = try client.answer()
                    #expect(reply.told == #"503 {"error":"Temporarily unavailable","code":"unavailable"}"#)
                    #expect(Int(reply.fields["retry-after"] ?? "") ?? 0 > 0)
                }
                #expect(milliseconds() - start < 1500)
            }
        }

        @Test func `many requests for one user's credentials at once are one call to STS`() throws {
            let options = Stack.Options(s3: true) { $0["limits.vend.requests"] = 1000 }
            try Stack.run("single-flight", options) { stack in
                try stack.waitUntilReady()
                let token = Tokens.fresh()
                let clients = try (0..<200).map { _ in try FastCGIClient(path: stack.socket()) }
                for client in clients { try client.socket.send(FastCGIClient.request(.vend(token))) }
                let vended = try clients.map { try Vended($0.answer()) }
                #expect(Set(vended.map(\.key)).count == 1)
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_upstream_attempts_total", ["upstream": "sts"]) == 1)
                #expect(metrics.sum("cloakroom_issued_total", ["kind": "credentials"]) == 200)
            }
        }

        @Test func `another tier, another user: other credentials`() throws {
            try Stack.run("cache-keys", .init(s3: true)) { stack in
                let asked = [("c_1", "free"), ("c_1", "gold"), ("c_2", "free"), ("c_1", "free")]
                let keys = try asked.map { try Vended(stack.ask(.vend(Tokens.token(user: $0, tier: $1)))).key }
                #expect(Set(keys).count == 3)
                #expect(keys[0] == keys[3])
            }
        }

        @Test(arguments: ["u_1/../u_2", "*", "?_1", "${aws:username}", "a\"b", "u_1/", ".."])
        func `a user id that means something elsewhere opens a prefix of its own and no other`(_ user: String) throws {
            try Stack.run("hostile-user", .init(s3: true)) { stack in
                let s3 = try EndToEnd.s3()
                let vended = try Vended(stack.ask(.vend(Tokens.token(user: user))))
                let line = try JSONSerialization.jsonObject(with: Data(RunFolder.text(of: stack.auditFile).utf8))
                let mapped = try #require((line as? [String: Any])?["user"] as? String)
                #expect(mapped.wholeMatch(of: /u_[0-9a-f-]{36}/) != nil)
                let bucket = "\(s3.url)/\(SeaweedFS.bucket)"
                #expect(try vended.ask("PUT", "\(bucket)/photos/\(mapped)/a.jpg").status == 200)
                for other in ["u_1", "u_2", "somebody"] {
                    #expect(try vended.ask("PUT", "\(bucket)/photos/\(other)/a.jpg").status == 403)
                }
            }
        }
    }
}
