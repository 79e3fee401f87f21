import Foundation
import Testing

extension EndToEnd {
    /// What Prometheus reads, whichever worker it asks.
    @Suite struct MetricsOfAllWorkers {
        private static func presigned(_ metrics: Metrics) -> Double {
            metrics.sum("cloakroom_requests_total", ["route": "/v2/attachments/presigned", "status": "200"])
        }

        @Test func `counters are summed over workers and go on after one is replaced`() throws {
            try Stack.run("sums", .init(workers: 2)) { stack in
                for _ in 1...5 { #expect(try stack.ask(.presign(Tokens.fresh()), worker: 1).status == 200) }
                for _ in 1...3 { #expect(try stack.ask(.presign(Tokens.fresh()), worker: 2).status == 200) }
                for number in 1...2 {
                    let metrics = Metrics(try stack.ask(.metrics, worker: number).text)
                    // Of a folder that the settings name, several supervisors may be.
                    #expect(metrics.types["cloakroom_start_time_seconds"] == nil)
                    #expect(Self.presigned(metrics) == 8)
                    #expect(metrics.sum("cloakroom_workers") == 2)
                    #expect(metrics.sum("cloakroom_worker_starts_total") == 2)
                }
                let victim = try #require(stack.workers.first)
                kill(victim, SIGKILL)
                try wait(for: "its successor") {
                    let starts = (try? stack.ask(.metrics, worker: 1)).map { Metrics($0.text) }
                    let others = (try? stack.ask(.metrics, worker: 2)).map { Metrics($0.text) }
                    return starts?.sum("cloakroom_worker_starts_total") == 3
                        && others?.sum("cloakroom_worker_starts_total") == 3
                }
                #expect(try stack.ask(.presign(Tokens.fresh()), worker: 1).status == 200)
                for number in 1...2 {
                    let metrics = Metrics(try stack.ask(.metrics, worker: number).text)
                    #expect(Self.presigned(metrics) == 9)
                    #expect(metrics.sum("cloakroom_workers") == 2)
                }
            }
        }

        @Test func `every line is of the format, and histograms add up`() throws {
            try Stack.run("format", .init(nginx: true, s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.fresh()
                for ask in [
                    TestRequest.vend(token), .vend(token), .presign(token), .renew(token, ["gone.bin"]), .vend("no"),
                    .get("/no"),
                ] { _ = try stack.askNginx(ask) }
                let reply = try stack.askNginx(.metrics)
                #expect(reply.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
                let metrics = Metrics(reply.text)
                #expect(metrics.strange == [])
                for sample in metrics.samples.keys {
                    let family = ["_bucket", "_sum", "_count"].reduce(sample.name) { name, ending in
                        metrics.types[name] == nil && name.hasSuffix(ending)
                            ? String(name.dropLast(ending.count)) : name
                    }
                    #expect(metrics.types[family] != nil, "\(sample.name)")
                }
                Self.checkHistograms(metrics)
                #expect(metrics.sum("cloakroom_credential_cache_total", ["outcome": "miss"]) == 1)
                #expect(metrics.sum("cloakroom_credential_cache_total", ["outcome": "hit"]) == 1)
                #expect(metrics.sum("cloakroom_renewals_total", ["outcome": "not_found"]) == 1)
                #expect(metrics.sum("cloakroom_issued_total", ["kind": "credentials"]) == 2)
                #expect(metrics.sum("cloakroom_issued_total", ["kind": "upload"]) == 1)
                #expect(metrics.sum("cloakroom_requests_total", ["status": "401"]) == 1)
                #expect(metrics.sum("cloakroom_requests_total", ["route": "unknown", "status": "404"]) == 1)
                #expect(
                    metrics.sum("cloakroom_upstream_attempts_total", ["upstream": "sts", "outcome": "success"]) == 1)
            }
        }

        private static func bound(_ sample: Metrics.Sample) -> Double {
            sample.labels["le"].flatMap { Double($0) } ?? .infinity
        }

        private static func checkHistograms(_ metrics: Metrics) {
            let counts = metrics.samples.filter { $0.key.name.hasSuffix("_count") }
            #expect(!counts.isEmpty)
            for (sample, count) in counts {
                let name = sample.name.dropLast(6) + "_bucket"
                let buckets = metrics.samples
                    .filter { bucket in
                        bucket.key.name == name && sample.labels.allSatisfy { bucket.key.labels[$0.key] == $0.value }
                    }
                    .sorted { bound($0.key) < bound($1.key) }
                #expect(buckets.last?.key.labels["le"] == "+Inf")
                #expect(buckets.last?.value == count)
                #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.value <= $1.value })
            }
        }
    }
}
