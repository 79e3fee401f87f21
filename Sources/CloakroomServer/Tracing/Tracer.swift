package import CloakroomAWS
package import CloakroomHTTP
import CloakroomJSON
package import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells a collector of requests, by OTLP over HTTP, in batches and after their responses.
///
/// What finds no room in the queue, and a batch that the collector does not take, is dropped and counted: nothing is sent
/// twice, and no request waits.
@LoopActor
package final class Tracer {
    /// Whom the spans are of.
    package struct Resource: Sendable {
        package let host: String
        package let worker: String
        package let process: Int
        package let version: String

        package init(host: String, worker: String, process: Int, version: String) {
            self.host = host
            self.worker = worker
            self.process = process
            self.version = version
        }
    }

    private static let maximumBatch = 512
    private static let interval: Duration = .seconds(1)
    /// A collector has little to say.
    package nonisolated static let maximumResponseBytes = 64 << 10

    private let settings: Settings.Tracing
    private let transport: any Transport
    private let resource: [TraceSpan.Attribute]
    private let version: String
    private let metrics: Metrics
    private let log: Log
    private let wallClock: @Sendable () -> Date
    private let monotonic: @LoopActor () -> UInt64
    private var random: TraceNumbers
    private var queue: [[UInt8]] = []
    /// How many spans the batch has that is under way.
    private var sending = 0
    private var hasFailed = false

    /// - Parameter monotonic: the clock of the requests, in ``Monotonic`` nanoseconds.
    package init(
        _ settings: Settings.Tracing, by transport: any Transport, of resource: Resource, metrics: Metrics, log: Log,
        runtime: RuntimeDependencies = .onLoop, monotonic: @escaping @LoopActor () -> UInt64 = { Monotonic.now }
    ) {
        self.settings = settings
        self.transport = transport
        self.metrics = metrics
        self.log = log
        self.monotonic = monotonic
        wallClock = runtime.wallClock
        version = resource.version
        random = TraceNumbers(seed: runtime.randomNumber())
        self.resource = [
            TraceSpan.Attribute("service.name", .text(settings.serviceName)),
            TraceSpan.Attribute("service.version", .text(resource.version)),
            // Workers of several hosts have the same addresses.
            TraceSpan.Attribute("service.instance.id", .text("\(resource.host)/\(resource.worker)")),
            TraceSpan.Attribute("host.name", .text(resource.host)),
            TraceSpan.Attribute("process.pid", .integer(resource.process)),
        ]
    }

    // MARK: Requests

    /// - Returns: `nil` for a request that is not traced: its caller says so, or did not say, and it is not one of the few.
    func begin(_ request: Request) -> RequestTrace? {
        if let context = request.trace {
            guard context.isSampled else { return nil }
            return RequestTrace(high: context.high, low: context.low, span: random.id(), parent: context.parent)
        }
        guard random.next() % 1000 < UInt64(settings.sampledPerThousand) else { return nil }
        return RequestTrace(high: random.id(), low: random.id(), span: random.id(), parent: 0)
    }

    /// - Parameters:
    ///   - route: its template; `nil` for none of ours.
    ///   - start: of the request; it ends now.
    func finish(_ trace: RequestTrace, _ request: Request, route: String?, status: Int, since start: UInt64) {
        guard queue.count + trace.waits.count < settings.queueLength else {
            return metrics.traced(trace.waits.count + 1, .full)
        }
        let end = monotonic()
        let now = UInt64(max(0, wallClock().timeIntervalSince1970 * 1_000_000) * 1000)
        func time(_ instant: UInt64) -> UInt64 { now &- (end &- instant) }
        let method = Self.methods.contains(request.method) ? request.method : "_OTHER"
        var attributes = [
            TraceSpan.Attribute("http.request.method", .text(method)),
            TraceSpan.Attribute("http.response.status_code", .integer(status)),
        ]
        if let route { attributes.append(TraceSpan.Attribute("http.route", .text(route))) }
        if let id = request.id { attributes.append(TraceSpan.Attribute("cloakroom.request", .text(id.description))) }
        put(
            TraceSpan(
                high: trace.high, low: trace.low, id: trace.span, parent: trace.parent,
                name: route.map { "\(method) \($0)" } ?? method, kind: .server, start: time(start), end: now,
                attributes: attributes, hasFailed: status >= 500))
        for (wait, start, end) in trace.waits {
            put(
                TraceSpan(
                    high: trace.high, low: trace.low, id: random.id(), parent: trace.span, name: wait.rawValue,
                    kind: wait == .audit ? .within : .client, start: time(start), end: time(end)))
        }
    }

    /// Others are the client's own words (OpenTelemetry, "Semantic conventions for HTTP spans").
    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]

    private func put(_ span: TraceSpan) {
        var writer = JSONWriter(capacity: 384)
        span.write(to: &writer)
        queue.append(writer.bytes)
    }

    // MARK: The collector

    /// Until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            try? await LoopActor.sleep(for: Self.interval)
            await export()
        }
    }

    /// Sends what there is, until the collector does not take it. Another export that is under way does so instead.
    func export() async {
        guard sending == 0 else { return }
        while !queue.isEmpty {
            let batch = Array(queue.prefix(Self.maximumBatch))
            queue.removeFirst(batch.count)
            sending = batch.count
            let wasTaken = await isTaken(batch)
            // None if abandoned meanwhile.
            metrics.traced(sending, wasTaken ? .exported : .failed)
            sending = 0
            guard wasTaken else { return }
        }
    }

    /// Returns when the collector has all of them, or does not take one batch of the last export.
    ///
    /// An export under way is waited for: that it fails says nothing of the last.
    package func finish() async {
        while sending > 0 { try? await LoopActor.sleep(for: .milliseconds(5)) }
        await export()
        abandon()
    }

    /// Counts as failed, once, what the collector has not taken: the worker ends, maybe before ``finish()`` has returned.
    package func abandon() {
        metrics.traced(queue.count + sending, .failed)
        (queue, sending) = ([], 0)
    }

    private func isTaken(_ batch: [[UInt8]]) async -> Bool {
        var request = UpstreamRequest(
            method: "POST", url: settings.url, fields: ["Content-Type": "application/json"],
            body: TraceSpan.export(batch, of: resource, version: version))
        if let authorization = settings.authorization {
            request.fields.add("Authorization", authorization.reveal())
        }
        let reason: String
        do throws(TransportError) {
            let response = try await transport.send(request, timeout: settings.timeout)
            guard !(200..<300).contains(response.status) else {
                if hasFailed { log.info("the collector takes spans again") }
                hasFailed = false
                return true
            }
            reason = "\(response.status)"
        } catch {
            reason = "\(error)"
        }
        if !hasFailed { log.warning("the collector does not take spans", ["reason": .text(reason)]) }
        hasFailed = true
        return false
    }
}

/// Numbers for ids and for the choice of requests: many are needed, and none is a secret.
///
/// Source: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct TraceNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Not 0, which is no id.
    mutating func id() -> UInt64 { max(1, next()) }
}
