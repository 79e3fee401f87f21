import Foundation
import Testing

extension EndToEnd {
    /// What a scrape through nginx shows, without any setting: the workers of a supervisor as one.
    @Suite struct Scraping {
        private static var options: Stack.Options {
            Stack.Options(workers: 2, nginx: true) {
                $0["server.metricsFolder"] = nil
                $0["limits.upload.requests"] = 1_000_000
                $0["limits.uploadBytes.bytes"] = 999_999_999_999_999
            }
        }

        private static let counted = #"cloakroom_requests_total{route="/v2/attachments/presigned",status="200"}"#

        @Test func `whichever worker is asked answers for all, and a dead one keeps its counts`() throws {
            try Stack.run("one-answer", Self.options) { stack in
                func presigned(_ worker: Int) throws -> Double {
                    Metrics(try stack.ask(.metrics, worker: worker).text)
                        .sum("cloakroom_requests_total", ["route": "/v2/attachments/presigned", "status": "200"])
                }
                for number in [1, 1, 1, 2, 2] {
                    #expect(try stack.ask(.presign(Tokens.fresh()), worker: number).status == 200)
                }
                #expect(try [1, 2].map(presigned) == [5, 5])
                let victim = try #require(stack.workers.first)
                kill(victim, SIGKILL)
                try wait(for: "its successor") {
                    !stack.workers.contains(victim) && (try? stack.ask(.health, worker: 1))?.status == 200
                        && (try? stack.ask(.health, worker: 2))?.status == 200
                }
                #expect(try [1, 2].map(presigned) == [5, 5])
                #expect(try stack.askNginx(TestRequest(method: "HEAD", target: "/metrics")).status == 200)
            }
        }

        @Test func `rates neither dip nor jump while workers are replaced and killed`() throws {
            try Stack.run("prometheus", Self.options) { stack in
                let port = try #require(stack.nginx).port
                let token = Tokens.fresh()
                let load = Load(threads: 2, pause: .milliseconds(10)) { _ in
                    try HTTPClient.ask(port: port, .presign(token))
                }
                let prometheus = try Prometheus(folder: stack.folder, target: port)
                defer { prometheus.stop() }
                let start = milliseconds()
                let before = load.soFar.total
                try wait(for: "the first samples", within: .seconds(20)) {
                    try prometheus.values("count_over_time(\(Self.counted)[1m])").first ?? 0 >= 10
                }
                for round in 1...2 {
                    stack.server?.signal(SIGHUP)
                    try wait(for: "new workers", within: .seconds(20)) {
                        stack.logLines("all workers are replaced").count == round
                    }
                }
                let victim = try #require(stack.workers.first)
                kill(victim, SIGKILL)
                try wait(for: "its successor", within: .seconds(5)) {
                    stack.workers.count == 2 && !stack.workers.contains(victim)
                }
                let seen = try prometheus.values("count_over_time(\(Self.counted)[1m])").first ?? 0
                try wait(for: "the last samples", within: .seconds(20)) {
                    try prometheus.values("count_over_time(\(Self.counted)[1m])").first ?? 0 >= seen + 10
                }
                let rate = Double(load.soFar.total - before) / (milliseconds() - start) * 1000
                let tally = load.stop()
                #expect(Set(tally.byStatus.keys).isSubset(of: [200, 502]), "\(tally)")

                #expect(try prometheus.values("resets(\(Self.counted)[2m])") == [0])
                let series = try prometheus.values("\(Self.counted)[2m]")
                #expect(zip(series, series.dropFirst()).allSatisfy { $0 <= $1 }, "\(series)")
                let rates = try prometheus.values("rate(\(Self.counted)[2s])[1m:200ms]")
                #expect(rates.count > 10)
                #expect(rates.allSatisfy { (0...3 * rate).contains($0) }, "\(rate) a second: \(rates)")
                for (name, type) in Metrics(try stack.askNginx(.metrics).text).types where type != "gauge" {
                    for suffix in type == "histogram" ? ["_bucket", "_count", "_sum"] : [""] {
                        let resets = try prometheus.values("max(resets(\(name)\(suffix)[2m]))")
                        #expect(resets.allSatisfy { $0 == 0 }, "\(name)\(suffix)")
                    }
                }
                // What Prometheus saw last is at most what was answered.
                #expect(
                    try prometheus.values("max_over_time(\(Self.counted)[2m])").allSatisfy { $0 <= Double(tally.total) }
                )
            }
        }
    }
}
