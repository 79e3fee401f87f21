import CloakroomCrypto
import CloakroomWire
import CloakroomRedis

/// Every series of the worker has its fixed place in one row of counters, so that counting is one addition, and the
/// rows of all workers can be added up by whichever of them gets the request.
struct MetricsLayout {
    /// One Prometheus series: a name, its labels, and where it stands.
    struct Series {
        let name: String
        let labels: [(name: String, value: String)]
        let index: Int
        /// What a unit of the counter is worth; durations are kept in microseconds.
        var scale = 1.0

        /// The same in every layout that has the series.
        var title: String { "\(name) \(labels)" }
    }

    struct Family {
        let name: String
        let help: String
        let kind: String
        var series: [Series] = []
    }

    static let routes = Route.allCases.map(\.rawValue) + ["unknown"]
    static let statuses = [200, 400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 503]
    /// Upper bounds in seconds; `+Inf` follows.
    static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let upstreams = ["sts", "s3"]
    static let upstreamOutcomes = [
        "success", "throttled", "transient", "stale_credentials", "skewed_clock", "refused", "no_credentials",
        "cancelled",
    ]
    static let renewalOutcomes = [
        "renewed", "fresh", "not_found", "archived", "invalid_key", "unrenewable", "forbidden", "misconfigured",
        "unavailable", "foreign",
    ]
    static let issuedKinds = ["credentials", "upload", "session"]
    static let keyFetchOutcomes = ["success"] + KeyFetchError.allCases.map(\.rawValue)
    static let cacheOutcomes = ["hit", "miss", "joined", "off", "shared", "previous", "refused"]
    static let redisFailures = [
        "unavailable", "timeout", "interrupted", "noscript", "readonly", "busy", "oom", "noauth", "masterdown",
        "loading", "wrongpass", "noperm", "maxclients", "misconf", "noreplicas", "clusterdown", "moved", "other",
    ]

    /// Among ``routes``.
    static func index(of route: Route?) -> Int {
        guard let route, let index = Route.allCases.firstIndex(of: route) else { return routes.count - 1 }
        return index
    }

    private(set) var families: [Family] = []
    private(set) var count = 0

    let requests: Int
    let requestDurations: Int
    let upstreamAttempts: Int
    let upstreamDurations: Int
    let limits: Int
    let entitlementRefusals: Int
    let renewals: Int
    let renewalMisconfigurations: Int
    let allowedCopies: Int
    let cache: Int
    let redis: Int
    let redisRepeats: Int
    let issued: Int
    let keyFetches: Int
    let auditFailures: Int
    let droppedLines: Int
    let starts: Int

    init() {
        var builder = Builder()
        requests = builder.counters(
            "cloakroom_requests_total", "Requests answered.",
            Self.routes.flatMap { route in
                (Self.statuses.map(String.init) + ["other"]).map { [("route", route), ("status", $0)] }
            })
        requestDurations = builder.histograms(
            "cloakroom_request_duration_seconds", "From a whole request to its answer.",
            Self.routes.map { ("route", $0) })
        upstreamAttempts = builder.counters(
            "cloakroom_upstream_attempts_total", "Tries at calls to AWS, retries included.",
            Self.upstreams.flatMap { upstream in
                Self.upstreamOutcomes.map { [("upstream", upstream), ("outcome", $0)] }
            })
        upstreamDurations = builder.histograms(
            "cloakroom_upstream_duration_seconds", "One try at one call.", Self.upstreams.map { ("upstream", $0) })
        limits = builder.counters(
            "cloakroom_limit_decisions_total", "Rate limit decisions; open and closed are those made without Redis.",
            RateLimitName.allCases.flatMap { name in
                RateLimitDecision.Verdict.allCases.map { [("limit", name.rawValue), ("verdict", $0.rawValue)] }
            })
        entitlementRefusals = builder.counters(
            "cloakroom_entitlement_refusals_total", "Requests of users who are not entitled to them.",
            Entitlement.Refusal.allCases.map { [("reason", $0.rawValue)] })
        renewals = builder.counters(
            "cloakroom_renewals_total", "Keys that were to be renewed.", Self.renewalOutcomes.map { [("outcome", $0)] })
        renewalMisconfigurations = builder.counters(
            "cloakroom_renewal_misconfigurations_total",
            "Renewal requests answered 503 because the worker's permissions, bucket or keys are wrong or may be.", [[]])
        allowedCopies = builder.gauge(
            "cloakroom_renewal_copies_allowed", "Copies that may be on the way at once; fewer after SlowDown.")
        cache = builder.counters(
            "cloakroom_credential_cache_total", "Look-ups of vended credentials.",
            Self.cacheOutcomes.map { [("outcome", $0)] })
        redis = builder.counters(
            "cloakroom_redis_failures_total", "Commands without an answer of use.",
            Self.redisFailures.map { [("reason", $0)] })
        redisRepeats = builder.counters(
            "cloakroom_redis_repeats_total",
            "Limit counts and reads sent again because their reply was lost; each may have been counted twice.", [[]])
        issued = builder.counters(
            "cloakroom_issued_total", "Credentials, upload URLs and sessions that left the worker.",
            Self.issuedKinds.map { [("kind", $0)] })
        keyFetches = builder.counters(
            "cloakroom_key_fetches_total", "Fetches of issuers' keys.", Self.keyFetchOutcomes.map { [("outcome", $0)] })
        auditFailures = builder.counters(
            "cloakroom_audit_failures_total", "Audit lines that could not be written; nothing was issued for them.",
            [[]])
        droppedLines = builder.counters(
            "cloakroom_log_lines_dropped_total", "Log lines that could not be written.", [[]])
        starts = builder.counters("cloakroom_worker_starts_total", "Workers started.", [[]])
        families = builder.families
        count = builder.count
        description = builder.families.flatMap(\.series).map { "\($0.index) \($0.title)" }.joined(separator: "\n")
        fingerprint = Self.fingerprint(of: description)
    }

    /// A line for each series: its place and its title.
    let description: String
    /// Changes whenever a place does: rows of another layout are added up by the titles of their series.
    let fingerprint: String

    static func fingerprint(of description: String) -> String {
        String(SHA256.hash(description.utf8).hexadecimal.prefix(12))
    }

    private let boundsInNanoseconds = bounds.map { UInt64($0 * 1e9) }

    /// The place of a duration within a histogram: buckets come first, then the sum in microseconds.
    func bucket(_ nanoseconds: UInt64) -> Int {
        boundsInNanoseconds.firstIndex { nanoseconds <= $0 } ?? boundsInNanoseconds.count
    }

    static var histogramWidth: Int { bounds.count + 2 }

    private struct Builder {
        var families: [Family] = []
        var count = 0

        mutating func counters(_ name: String, _ help: String, _ labels: [[(String, String)]]) -> Int {
            let base = count
            families.append(
                Family(
                    name: name, help: help, kind: "counter",
                    series: labels.enumerated().map { Series(name: name, labels: $1, index: base + $0) }))
            count += labels.count
            return base
        }

        mutating func gauge(_ name: String, _ help: String) -> Int {
            families.append(
                Family(name: name, help: help, kind: "gauge", series: [Series(name: name, labels: [], index: count)]))
            count += 1
            return count - 1
        }

        mutating func histograms(_ name: String, _ help: String, _ labels: [(String, String)]) -> Int {
            let base = count
            var family = Family(name: name, help: help, kind: "histogram")
            for label in labels {
                for (offset, bound) in (bounds.map { "\($0)" } + ["+Inf"]).enumerated() {
                    family.series.append(
                        Series(name: name + "_bucket", labels: [label, ("le", bound)], index: count + offset))
                }
                family.series.append(
                    Series(name: name + "_sum", labels: [label], index: count + bounds.count + 1, scale: 1e-6))
                count += histogramWidth
            }
            families.append(family)
            return base
        }
    }
}
