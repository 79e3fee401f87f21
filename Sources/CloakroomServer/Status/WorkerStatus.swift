import CloakroomAWS
import CloakroomJSON
package import CloakroomLoop
import CloakroomRedis
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a worker tells of itself: one JSON object, made once a second and for a request of ``Route/status``.
///
/// It names no user and holds no secret: routes are templates, failures are the log's constant messages.
@LoopActor
package final class WorkerStatus {
    /// All that it looks at; nothing is counted for it that metrics do not count.
    struct Parts {
        let worker: String
        let process: Int
        let version: String
        let metrics: Metrics
        let redis: any RedisClient
        let servers: Settings.Redis.Servers
        let redisHealth: RedisHealth
        let roles: RoleClients
        /// By the names of their profiles; the worker's own have none.
        let credentials: [(profile: String?, credentials: WorkerCredentials)]
        let vendor: Vendor
        let objects: ObjectQueue
        let readiness: Readiness
        let log: Log
        let now: @Sendable () -> Date
    }

    /// What it takes at most; lists are cut to keep to it.
    static let maximumBytes = 24 << 10
    private static let maximumListed = 16

    private let parts: Parts
    /// The members that never change.
    private let identity: [UInt8]
    private var window = CounterWindow()
    private let places: StatusPlaces
    /// Looked at every few seconds: both readings are system calls.
    private var memory = (resident: 0, heap: 0)
    private var memoryDue: UInt64 = 0
    /// Set when the worker takes no more requests.
    package var isDraining = false

    init(_ parts: Parts) {
        self.parts = parts
        places = StatusPlaces(parts.metrics.layout)
        var writer = JSONWriter()
        writer.text("worker", parts.worker)
        writer.member("process", parts.process)
        writer.text("version", parts.version)
        writer.member("since", parts.now())
        identity = writer.bytes
    }

    var layout: MetricsLayout { parts.metrics.layout }

    /// Of workers with the same layout together.
    func counts(_ minute: [UInt64], nanoseconds: UInt64) -> StatusCounts {
        StatusCounts(places, minute, nanoseconds: nanoseconds)
    }

    /// - Returns: what was counted in about the last minute, by the indices of the layout, with its length in milliseconds
    ///   behind that, or nothing but zeros while it drains: its successor counts in the same row; and the members of the
    ///   object.
    func report(at instant: UInt64 = Monotonic.now) -> (numbers: [UInt64], members: [UInt8]) {
        let values = parts.metrics.row.first(layout.count)
        window.note(values, at: instant)
        let (minute, nanoseconds) = window.counted(values, at: instant)
        var writer = JSONWriter(capacity: 4096)
        writer.beginObject()
        if instant >= memoryDue {
            memory = (HeapTrimming.residentBytes, HeapTrimming.use.used)
            memoryDue = instant + CounterWindow.step
        }
        writeProcess(&writer)
        writer.member("inFlight", inFlight)
        writer.counts(StatusCounts(places, minute, nanoseconds: nanoseconds))
        writeRoutes(minute, &writer)
        writeRedis(&writer)
        writeBreakers(&writer)
        writeCredentials(&writer)
        writeQueues(&writer)
        writeFaults(&writer)
        writeFailures(&writer)
        writer.endObject()
        precondition(writer.bytes.count <= Self.maximumBytes)
        let numbers = minute + [nanoseconds / 1_000_000]
        return (
            isDraining ? [UInt64](repeating: 0, count: numbers.count) : numbers,
            Array(writer.bytes.dropFirst().dropLast())
        )
    }

    private var inFlight: Int { RouteLabel.forApps.reduce(0) { $0 + parts.metrics.inFlight[$1] } }

    private func writeProcess(_ writer: inout JSONWriter) {
        writer.members(identity)
        writer.flag("draining", isDraining)
        writer.plainName("memory")
        writer.beginObject()
        writer.member("residentBytes", memory.resident)
        writer.member("heapBytes", memory.heap)
        writer.endObject()
    }

    /// Those that had a request in the last minute, or have one now.
    private func writeRoutes(_ minute: [UInt64], _ writer: inout JSONWriter) {
        writer.plainName("routes")
        writer.beginArray()
        for (route, place) in zip(RouteLabel.allCases, places.routes) {
            let inFlight = parts.metrics.inFlight[route]
            guard inFlight > 0 || layout.hasDurations(at: place.durations, in: minute) else { continue }
            let counts = StatusCounts.Route(places, minute, place)
            writer.beginObject()
            writer.member("route", route.value)
            writer.member("inFlight", inFlight)
            writer.counts(counts)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeRedis(_ writer: inout JSONWriter) {
        writer.plainName("redis")
        writer.beginObject()
        writer.flag("ready", parts.redis.isReady)
        writer.member("kind", parts.servers.kind)
        writer.member("role", parts.redisHealth.role.rawValue)
        writer.plainName("servers")
        writer.beginArray()
        for server in parts.redis.currentServers.prefix(Self.maximumListed) { writer.string(server.description.cut) }
        writer.endArray()
        if let roundTrip = parts.redisHealth.roundTrip {
            writer.member("roundTripMicroseconds", Int(roundTrip.nanoseconds / 1000))
        }
        writer.member("pending", parts.redis.pendingCount)
        writer.endObject()
    }

    private func writeBreakers(_ writer: inout JSONWriter) {
        let breakers = parts.roles.clients.compactMap { client in
            client.breakerStatus.map { (role: client.role.name, state: $0.state, failures: $0.failures) }
        }
        // What is wrong comes first, should there be more than are listed.
        let listed = breakers.sorted { $0.failures > $1.failures }.prefix(Self.maximumListed)
        writer.plainName("breakers")
        writer.beginArray()
        for breaker in listed {
            writer.beginObject()
            writer.text("role", breaker.role)
            writer.member("state", breaker.state.rawValue)
            writer.member("failures", breaker.failures)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeCredentials(_ writer: inout JSONWriter) {
        writer.plainName("credentials")
        writer.beginArray()
        for (profile, credentials) in parts.credentials.prefix(Self.maximumListed) {
            let status = credentials.refreshing?.status
            writer.beginObject()
            if let profile { writer.text("profile", profile) }
            writer.member("provider", credentials.refreshing == nil ? "settings" : status?.provider?.rawValue ?? "none")
            writer.flag("usable", status?.isUsable ?? true)
            if let end = status?.expiration { writer.member("expires", end) }
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeQueues(_ writer: inout JSONWriter) {
        writer.plainName("queues")
        writer.beginObject()
        if let cache = parts.vendor.cacheStatus {
            writer.member("credentialsHeld", cache.held)
            writer.member("credentialsAwaited", cache.calls)
        }
        writer.member("objectsWaiting", parts.objects.waiting)
        writer.member("objectsOnTheWay", parts.objects.running)
        writer.member("objectsAllowed", parts.objects.allowed)
        writer.endObject()
    }

    private func writeFaults(_ writer: inout JSONWriter) {
        writer.plainName("faults")
        writer.beginObject()
        for (name, fault) in parts.readiness.currentFaults {
            writer.name(name)
            writer.string(fault.cut)
        }
        writer.endObject()
    }

    private func writeFailures(_ writer: inout JSONWriter) {
        writer.plainName("failures")
        writer.beginArray()
        for entry in parts.log.failures.entries.sorted(by: { $0.last > $1.last }) {
            writer.beginObject()
            writer.member("level", entry.level.rawValue)
            writer.plainName("message")
            writer.plainString(entry.message)
            if let reason = entry.reason { writer.text("reason", reason) }
            writer.member("count", entry.count)
            writer.member("last", entry.last)
            writer.endObject()
        }
        writer.endArray()
    }
}

/// Where in a row the counters stand that a status is made of: looked up once, for labels are found by comparing.
struct StatusPlaces {
    struct Route {
        let durations: Int
        /// Of status 500 and above.
        let failures: [Int]
    }

    let layout: MetricsLayout
    let routes: [Route]
    /// Of these those that are not for monitoring.
    let ofApps: [Route]
    let upstreams: [(name: String, durations: Int, failures: [Int])]
    let lookups: [Int]
    let hits: [Int]

    init(_ layout: MetricsLayout) {
        self.layout = layout
        func place(_ route: RouteLabel) -> Route {
            Route(
                durations: layout.requestDurations[route],
                failures: [StatusLabel.internalError, .unavailable, .other].map { layout.requests[route, $0] })
        }
        routes = RouteLabel.allCases.map(place)
        ofApps = RouteLabel.forApps.map(place)
        upstreams = UpstreamLabel.allCases.map { upstream in
            (
                upstream.rawValue, layout.upstreamDurations[upstream],
                [AttemptLabel.throttled, .transient].map { layout.upstreamAttempts[upstream, $0] }
            )
        }
        lookups = CacheLabel.allCases.filter { $0 != .off }.map { layout.cache[$0] }
        hits = [CacheLabel.hit, .joined, .shared].map { layout.cache[$0] }
    }
}

/// The numbers of a minute that one worker has, or all together.
struct StatusCounts {
    struct Route {
        let durations: MetricsLayout.Durations
        let failures: UInt64

        init(_ places: StatusPlaces, _ minute: [UInt64], _ place: StatusPlaces.Route) {
            durations = places.layout.durations(at: [place.durations], in: minute)
            failures = StatusCounts.sum(place.failures, minute)
        }
    }

    let milliseconds: UInt64
    let requests: MetricsLayout.Durations
    let failures: UInt64
    let upstreams: [(name: String, durations: MetricsLayout.Durations, failures: UInt64)]
    let lookups: UInt64
    let hits: UInt64

    init(_ places: StatusPlaces, _ minute: [UInt64], nanoseconds: UInt64) {
        milliseconds = nanoseconds / 1_000_000
        requests = places.layout.durations(at: places.ofApps.map(\.durations), in: minute)
        failures = places.ofApps.reduce(0) { $0 + Self.sum($1.failures, minute) }
        upstreams = places.upstreams.map { upstream in
            (
                upstream.name, places.layout.durations(at: [upstream.durations], in: minute),
                Self.sum(upstream.failures, minute)
            )
        }
        lookups = Self.sum(places.lookups, minute)
        hits = Self.sum(places.hits, minute)
    }

    private static func sum(_ places: [Int], _ minute: [UInt64]) -> UInt64 { places.reduce(0) { $0 + minute[$1] } }
}

extension RouteLabel {
    /// Not what monitoring asks for: it would make every percentile look better than it is.
    fileprivate static let forApps = allCases.filter { label in
        [CloakroomWire.Route.health, .readiness, .metrics, .status].allSatisfy { RouteLabel($0) != label }
    }
}

extension JSONWriter {
    /// Members for ``StatusCounts``.
    mutating func counts(_ counts: StatusCounts) {
        plainName("minute")
        beginObject()
        member("milliseconds", Int(counts.milliseconds))
        durations(counts.requests, "requests")
        member("failures", Int(counts.failures))
        endObject()
        for (upstream, durations, failures) in counts.upstreams {
            name(upstream)
            beginObject()
            self.durations(durations, "attempts")
            member("failures", Int(failures))
            endObject()
        }
        plainName("cache")
        beginObject()
        member("lookups", Int(counts.lookups))
        member("hits", Int(counts.hits))
        endObject()
    }

    /// Members for one route.
    fileprivate mutating func counts(_ counts: StatusCounts.Route) {
        durations(counts.durations, "requests")
        member("failures", Int(counts.failures))
    }

    private mutating func durations(_ durations: MetricsLayout.Durations, _ name: StaticString) {
        member(name, Int(durations.count))
        if let p50 = durations.p50 { member("p50Microseconds", p50) }
        if let p99 = durations.p99 { member("p99Microseconds", p99) }
    }

    fileprivate mutating func flag(_ name: StaticString, _ value: Bool) {
        plainName(name)
        bool(value)
    }

    /// One that comes from outside: bounded, and without what moves a terminal's cursor.
    fileprivate mutating func text(_ name: StaticString, _ value: String) { member(name, value.cut) }
}

extension String {
    private static let maximumCharacters = 120

    /// 120 characters that JSON need not escape: so long a status cannot become longer than its place.
    fileprivate var cut: String {
        guard utf8.count > Self.maximumCharacters || !utf8.allSatisfy(Self.isPlain) else { return self }
        return String(decoding: utf8.lazy.filter(Self.isPlain).prefix(Self.maximumCharacters), as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

extension Settings.Redis.Servers {
    fileprivate var kind: String {
        switch self {
        case .single: "single"
        case .sentinels: "sentinels"
        case .cluster: "cluster"
        }
    }
}
