import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

extension EndToEnd {
    /// Spans for a collector that does well, that is slow, and that is not there.
    @Suite struct Tracing {
        private static func options(_ endpoint: String) -> Stack.Options {
            .init(s3: true) { settings in
                settings["tracing"] =
                    [
                        "endpoint": endpoint, "sampledPerThousand": 1000, "queueLength": 100,
                        "timeoutMilliseconds": 30_000,
                    ] as [String: Any]
                settings["limits.upload.requests"] = 100_000
            }
        }

        private static func spans(_ server: HTTPServer) -> [[String: Any]] {
            server.requests.flatMap { request in
                let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
                let resources = body?["resourceSpans"] as? [[String: Any]] ?? []
                return resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
                    .flatMap { $0["spans"] as? [[String: Any]] ?? [] }
            }
        }

        @Test func `a collector gets the spans of each request, below the caller's`() throws {
            let server = try HTTPServer { _ in [.answer(200, "{}")] }
            try Stack.run("spans", Self.options(server.url)) { stack in
                try stack.waitUntilReady()
                var ask = TestRequest.vend(Tokens.fresh())
                ask.fields["traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
                #expect(try stack.ask(ask).status == 200)
                var own: [[String: Any]] = []
                try wait(for: "the spans", within: .seconds(10)) {
                    own = Self.spans(server).filter { $0["traceId"] as? String == "4bf92f3577b34da6a3ce929d0e0e4736" }
                    return !own.isEmpty
                }
                #expect(
                    own.compactMap { $0["name"] as? String } == [
                        "POST /api/v1/auth/sts-token", "Redis", "STS", "audit",
                    ])
                #expect(own.first?["parentSpanId"] as? String == "00f067aa0ba902b7")
                let root = own.first?["spanId"] as? String
                #expect(own.dropFirst().allSatisfy { $0["parentSpanId"] as? String == root })
                let times = own.map { span in
                    ["startTimeUnixNano", "endTimeUnixNano"].compactMap { (span[$0] as? String).flatMap { Int($0) } }
                }
                #expect(times.allSatisfy { $0.count == 2 && $0[0] <= $0[1] })
                #expect(times.allSatisfy { $0[0] >= times[0][0] && $0[1] <= times[0][1] + 1000 })
                #expect(server.requests.allSatisfy { $0.target == "/v1/traces" })
                try wait(for: "their count") {
                    Metrics(try stack.ask(.metrics).text).sum("cloakroom_spans_total", ["outcome": "exported"]) >= 4
                }
            }
        }

        /// - Returns: how long each of many requests took, in milliseconds, sorted.
        private func durations(_ stack: Stack) throws -> [Double] {
            let token = Tokens.fresh()
            return try (0..<400).map { _ in
                let (reply, milliseconds) = try timed { try stack.ask(.presign(token)) }
                #expect(reply.status == 200)
                return milliseconds
            }
            .sorted()
        }

        @Test func `a collector that does not respond costs spans, and no request`() throws {
            let latch = Latch()
            let server = try HTTPServer { _ in [.wait(latch)] }
            defer { latch.open() }
            var options = Self.options(server.url)
            // The worker waits at its end for no longer than that.
            let usual = options.settings
            options.settings = { settings in
                usual(&settings)
                settings["tracing.timeoutMilliseconds"] = 2000
            }
            try Stack.run("slow-collector", options) { stack in
                try stack.waitUntilReady()
                _ = try durations(stack)
                try wait(for: "a batch on its way") { !server.requests.isEmpty }
                let traced = try durations(stack)
                // The median of a request is a few milliseconds; one that waited would take two seconds.
                #expect(traced[200] < 100 && traced[399] < 1000, "\(traced[200]) ms, at most \(traced[399]) ms")
                try wait(for: "drops", within: .seconds(10)) {
                    let metrics = Metrics(try stack.ask(.metrics).text)
                    return metrics.sum("cloakroom_spans_total", ["outcome": "full"]) > 500
                        && metrics.sum("cloakroom_spans_total", ["outcome": "failed"]) > 0
                }
                #expect(stack.logLines("the collector does not take spans").count == 1)
            }
        }
    }
}
