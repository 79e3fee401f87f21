import Foundation
import Testing

extension EndToEnd {
    /// FAULTS row 30: one connection to Redis is lost while Redis is up.
    @Suite struct RedisLoss {
        /// Requests sent at once, each on a connection of its own, 100 times a second.
        private static let crowd = 20
        private static let losses = 20

        /// What became of vends at 2,000 requests a second while the connection they used was killed again and again.
        private struct Tally {
            var byStatus: [Int: Int] = [:]
            /// Of the turns in which nothing was killed.
            var undisturbed: [Int: Int] = [:]
        }

        private static func run(_ name: String, audit: (inout TestSettings) -> Void) throws -> (
            Tally, [String], Metrics
        ) {
            var result: (Tally, [String], Metrics)?
            try withoutActuallyEscaping(audit) { audit in
                let options = Stack.Options(s3: true) {
                    $0["limits.vend.requests"] = 1_000_000
                    audit(&$0)
                }
                try Stack.run(name, options) { stack in
                    try stack.waitUntilReady()
                    let redis = try #require(stack.redis)
                    let token = Tokens.fresh()
                    #expect(try stack.ask(.vend(token)).status == 200)
                    let request = FastCGIClient.request(.vend(token))
                    let clients = try (0..<crowd).map { _ in try FastCGIClient(path: stack.socket()) }
                    var tally = Tally()
                    let start = milliseconds()
                    for turn in 0..<losses * 10 {
                        let isKilling = turn % 10 == 5
                        let id = isKilling ? try busiest(redis) : nil
                        for client in clients { try client.socket.send(request) }
                        if let id { #expect(try redis.command("CLIENT KILL ID \(id)") == ["1"]) }
                        for client in clients {
                            let status = try client.answer().status
                            tally.byStatus[status, default: 0] += 1
                            if !isKilling { tally.undisturbed[status, default: 0] += 1 }
                        }
                        let early = start + Double(turn + 1) * 10 - milliseconds()
                        if early > 0 { usleep(UInt32(early * 1000)) }
                    }
                    result = (tally, try redis.command("XLEN cloakroom:audit"), Metrics(try stack.ask(.metrics).text))
                }
            }
            return try #require(result)
        }

        /// The id of the connection that the worker uses: it has run a script last.
        private static func busiest(_ redis: StackRedis) throws -> String {
            let lines = try redis.command("CLIENT LIST").joined().split(separator: "\n")
            let line = try #require(lines.first { $0.contains(/cmd=(evalsha|hmget)\b/) }, "\(lines)")
            return String(try #require(line.firstMatch(of: /\bid=(\d+)/)).1)
        }

        @Test func `twenty losses of a connection at 2,000 vends a second refuse nobody`() throws {
            let (tally, _, metrics) = try Self.run("redis-loss-file") { _ in }
            #expect(tally.byStatus == [200: Self.crowd * Self.losses * 10])
            #expect(metrics.sum("cloakroom_limit_decisions_total", ["limit": "vendAll", "verdict": "allowed"]) == 4001)
            #expect(metrics.samples.keys.contains { $0.name == "cloakroom_redis_repeats_total" })
        }

        @Test func `with the audit in Redis only vends are refused whose line was in flight`() throws {
            let (tally, length, _) = try Self.run("redis-loss-stream") {
                $0["audit.file"] = nil
                $0["audit.stream"] = "audit"
            }
            #expect(Set(tally.byStatus.keys).isSubset(of: [200, 503]))
            #expect(tally.undisturbed == [200: Self.crowd * Self.losses * 9])
            // Nothing was issued without its line.
            let lines = try #require(length.first.flatMap { Int($0) })
            #expect(lines >= tally.byStatus[200, default: 0] + 1)
        }
    }
}
