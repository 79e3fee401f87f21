import CloakroomAWS
import CloakroomHTTP
import CloakroomJSON
import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct TracerTests {
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    @LoopActor private func tracer(
        _ metrics: Metrics, sampled: Int = 1000, queueLength: Int = 100, _ transport: ScriptedTransport
    ) -> Tracer {
        Tracer(
            Settings.Tracing(
                url: "http://127.0.0.1:4318/v1/traces", timeout: .seconds(1), sampledPerThousand: sampled,
                queueLength: queueLength, serviceName: "cloakroom"),
            by: transport, of: .init(host: "h1", worker: "unix:/w.sock", process: 7, version: "1.2.3"),
            metrics: metrics,
            log: Log(sink: nil, level: .error),
            runtime: RuntimeDependencies(wallClock: { Self.time }, randomNumber: { 1 }),
            monotonic: { 5_000_000_000 })
    }

    private func request(sampled flag: String? = nil) -> Request {
        var request = Request(method: "POST", path: "/")
        request.id = RequestID(0xABCD)
        if let flag {
            var text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-\(flag)"
            request.trace = text.withUTF8 { TraceContext($0.span) }
        }
        return request
    }

    /// The names are those of opentelemetry-proto's trace.proto, in lowerCamelCase.
    @Test @LoopActor func `a batch is a request of OTLP in JSON`() async throws {
        let metrics = try Metrics()
        let transport = ScriptedTransport { _ in .text(200, "{}") }
        let tracer = tracer(metrics, transport)
        let request = request(sampled: "01")
        let trace = try #require(tracer.begin(request))
        trace.add(.redis, from: 4_000_000_000, to: 4_001_000_000)
        tracer.finish(trace, request, route: "/v2/assets/renew-batch", status: 503, since: 3_000_000_000)
        await tracer.export()
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "POST" && sent.url == "http://127.0.0.1:4318/v1/traces")
        #expect(sent.fields["Content-Type"] == "application/json" && sent.fields["Authorization"] == nil)
        let ids = String(decoding: sent.body, as: UTF8.self).matches(of: /"spanId":"([0-9a-f]{16})"/).map { $0.1 }
        #expect(ids.count == 2 && Set(ids).count == 2)
        #expect(
            String(decoding: sent.body, as: UTF8.self) == """
                {"resourceSpans":[{"resource":{"attributes":[\
                {"key":"service.name","value":{"stringValue":"cloakroom"}},\
                {"key":"service.version","value":{"stringValue":"1.2.3"}},\
                {"key":"service.instance.id","value":{"stringValue":"h1/unix:/w.sock"}},\
                {"key":"host.name","value":{"stringValue":"h1"}},\
                {"key":"process.pid","value":{"intValue":"7"}}]},\
                "scopeSpans":[{"scope":{"name":"cloakroom","version":"1.2.3"},"spans":[\
                {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"\(ids[0])",\
                "parentSpanId":"00f067aa0ba902b7","name":"POST /v2/assets/renew-batch","kind":2,\
                "startTimeUnixNano":"1799999998000000000","endTimeUnixNano":"1800000000000000000","attributes":[\
                {"key":"http.request.method","value":{"stringValue":"POST"}},\
                {"key":"http.response.status_code","value":{"intValue":"503"}},\
                {"key":"http.route","value":{"stringValue":"/v2/assets/renew-batch"}},\
                {"key":"cloakroom.request","value":{"stringValue":"000000000000abcd"}}],"status":{"code":2}},\
                {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"\(ids[1])",\
                "parentSpanId":"\(ids[0])","name":"Redis","kind":3,\
                "startTimeUnixNano":"1799999999000000000","endTimeUnixNano":"1799999999001000000",\
                "attributes":[],"status":{}}]}]}]}
                """)
        #expect(metrics.row[metrics.layout.spans[.exported]] == 2)
    }

    @Test @LoopActor func `a caller that says so is heeded, whatever the ratio is`() throws {
        let metrics = try Metrics()
        let transport = ScriptedTransport { _ in .text(200, "") }
        let (all, none) = (tracer(metrics, sampled: 1000, transport), tracer(metrics, sampled: 0, transport))
        let taken = try #require(none.begin(request(sampled: "01")))
        #expect(taken.high == 0x4bf9_2f35_77b3_4da6 && taken.low == 0xa3ce_929d_0e0e_4736)
        #expect(taken.parent == 0x00f0_67aa_0ba9_02b7 && taken.span != 0)
        #expect(all.begin(request(sampled: "00")) == nil)
        #expect(none.begin(request()) == nil)
        let first = try #require(all.begin(request()))
        let second = try #require(all.begin(request()))
        #expect(first.parent == 0 && first.low != second.low && first.span != second.span)
    }

    @Test @LoopActor func `as many are chosen as the ratio says`() throws {
        let tracer = tracer(try Metrics(), sampled: 100, ScriptedTransport { _ in .text(200, "") })
        let count = (0..<10_000).count { _ in tracer.begin(request()) != nil }
        #expect((850...1150).contains(count))
    }

    @Test @LoopActor func `what finds no room, and what the collector does not take, is dropped and counted`()
        async throws
    {
        let metrics = try Metrics()
        let isAway = Mutex(true)
        let transport = ScriptedTransport { _ throws(TransportError) in
            if isAway.withLock({ $0 }) { throw .timeout }
            return .text(200, "")
        }
        let tracer = tracer(metrics, transport)
        func count(_ label: SpanLabel) -> UInt64 { metrics.row[metrics.layout.spans[label]] }
        try add(130, to: tracer)
        #expect(count(.full) == 30)
        await tracer.export()
        #expect(count(.failed) == 100 && count(.exported) == 0 && transport.requests.count == 1)
        isAway.withLock { $0 = false }
        try add(1, to: tracer)
        await tracer.export()
        #expect(count(.exported) == 1)
    }

    @LoopActor private func add(_ count: Int, to tracer: Tracer) throws {
        for _ in 0..<count {
            let trace = try #require(tracer.begin(request()))
            tracer.finish(trace, request(), route: nil, status: 200, since: 0)
        }
    }

    private final class Collector: Sendable {
        let isReachable = Mutex(false)
    }

    /// Responds to nothing until it is reachable.
    private static func collectorThatWaits() -> (Collector, ScriptedTransport) {
        let collector = Collector()
        let transport = ScriptedTransport { _ throws(TransportError) in
            while !collector.isReachable.withLock({ $0 }) { await Task.yield() }
            return .text(200, "")
        }
        return (collector, transport)
    }

    @Test @LoopActor func `at the end the batch under way is waited for, and the rest is sent`() async throws {
        let metrics = try Metrics()
        let (collector, transport) = Self.collectorThatWaits()
        let tracer = tracer(metrics, transport)
        try add(1, to: tracer)
        let exporting = LoopActor.spawn { await tracer.export() }
        try await until { transport.requests.count == 1 }
        try add(1, to: tracer)
        let hasFinished = Mutex(false)
        let finishing = LoopActor.spawn {
            await tracer.finish()
            hasFinished.withLock { $0 = true }
        }
        for _ in 0..<20 { await Task.yield() }
        #expect(hasFinished.withLock { $0 } == false)
        #expect(transport.requests.count == 1)
        collector.isReachable.withLock { $0 = true }
        await finishing.value
        #expect(metrics.row[metrics.layout.spans[.exported]] == 2)
        #expect(metrics.row[metrics.layout.spans[.failed]] == 0 && transport.requests.count == 2)
        await exporting.value
    }

    @Test @LoopActor func `at the end what follows a batch that failed is counted as failed`() async throws {
        let metrics = try Metrics()
        let transport = ScriptedTransport { _ in .text(503, "") }
        let tracer = tracer(metrics, queueLength: 1000, transport)
        try add(600, to: tracer)
        await tracer.finish()
        #expect(metrics.row[metrics.layout.spans[.failed]] == 600 && transport.requests.count == 1)
    }

    @Test @LoopActor func `what a worker's end cuts off is counted as failed, once`() async throws {
        let metrics = try Metrics()
        let (collector, transport) = Self.collectorThatWaits()
        let tracer = tracer(metrics, transport)
        try add(2, to: tracer)
        let exporting = LoopActor.spawn { await tracer.export() }
        try await until { transport.requests.count == 1 }
        try add(3, to: tracer)
        tracer.abandon()
        tracer.abandon()
        collector.isReachable.withLock { $0 = true }
        await exporting.value
        #expect(metrics.row[metrics.layout.spans[.failed]] == 5)
        #expect(metrics.row[metrics.layout.spans[.exported]] == 0)
    }

    @Test @LoopActor func `a traced request has a span for each wait, and others none`() async throws {
        let sent = Mutex<[String]>([])
        let service = try TestService(
            "tracing: {endpoint: \"http://127.0.0.1:4318\", sampledPerThousand: 0}, "
                + "limits: {vend: {whenRedisIsAway: \"open\"}}",
            collector: ScriptedTransport { request in
                sent.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                return .text(200, "")
            })
        let token = try service.token()
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: token).hasPrefix("200"))
        await service.tracer?.export()
        #expect(sent.withLock { $0 } == [])
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        let other = try service.token("u_2")
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: other, trace: id).hasPrefix("200"))
        await service.tracer?.export()
        let names = try #require(sent.withLock { $0.first }).matches(of: /"traceId":"([^"]+)".*?"name":"([^"]+)"/)
        #expect(names.map { $0.2 } == ["POST /api/v1/auth/sts-token", "Redis", "STS", "audit"])
        #expect(names.allSatisfy { $0.1 == id })
        #expect(sent.withLock { $0.first }?.contains(other) == false)
    }
}
