import CloakroomCrypto

/// Every series of the worker has its fixed index in one row of counters, so that counting is one addition, and the
/// rows of all workers can be added up by whichever of them gets the request.
struct MetricsLayout {
    /// One Prometheus series: a name, its labels, and where it stands.
    struct Series {
        let name: String
        let labels: [(name: String, value: String)]
        let index: Int
        /// What a unit of the counter is worth; durations are kept in microseconds.
        var scale = 1.0

        /// The same in every layout that has the series, of whatever version: as Swift describes an array of such pairs, without
        /// the reflection that this takes.
        var title: String {
            let pairs = labels.map { "(name: \($0.name.debugDescription), value: \($0.value.debugDescription))" }
            return "\(name) [\(pairs.joined(separator: ", "))]"
        }
    }

    struct Family {
        let name: String
        let help: String
        let kind: String
        var series: [Series] = []
    }

    /// A counter without labels, or a gauge.
    struct Single {
        let index: Int
    }

    /// A counter for each value of a label.
    struct Counters<Label: MetricLabel> {
        fileprivate let base: Int

        subscript(label: Label) -> Int { base + label.index }
    }

    /// A counter for each pair of two labels' values.
    struct CounterPairs<Row: MetricLabel, Column: MetricLabel> {
        fileprivate let base: Int
        fileprivate let columns: Int

        subscript(row: Row, column: Column) -> Int { base + row.index * columns + column.index }
    }

    /// A counter for each value of a label, for each of what the settings name.
    struct NamedCounters<Column: MetricLabel> {
        fileprivate let base: Int
        fileprivate let names: [String]

        /// `nil` for a name of other settings.
        subscript(name: String, column: Column) -> Int? {
            names.firstIndex(of: name).map { base + $0 * Column.allCases.count + column.index }
        }
    }

    /// A histogram of durations for each value of a label.
    struct Histograms<Label: MetricLabel> {
        fileprivate let base: Int

        /// Where the first bucket stands; the sum of microseconds stands behind the last.
        subscript(label: Label) -> Int { base + label.index * MetricsLayout.histogramWidth }
    }

    /// Upper bounds in seconds; `+Inf` follows.
    static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    let families: [Family]
    let count: Int

    let requests: CounterPairs<RouteLabel, StatusLabel>
    let requestDurations: Histograms<RouteLabel>
    let upstreamAttempts: CounterPairs<UpstreamLabel, AttemptLabel>
    let upstreamDurations: Histograms<UpstreamLabel>
    let roleCalls: NamedCounters<RoleCallLabel>
    let limits: CounterPairs<RateLimitName, RateLimitDecision.Verdict>
    let halfUsed: Counters<WindowLabel>
    let usedUp: Counters<WindowLabel>
    let crowdedAddresses: Single
    let entitlementRefusals: Counters<Entitlement.Refusal>
    let omittedShares: Counters<SharingRules.Omission>
    let renewals: Counters<RenewalLabel>
    let renewalMisconfigurations: Single
    let releases: Counters<ReleaseLabel>
    let allowedCopies: Single
    let cache: Counters<CacheLabel>
    let redis: Counters<RedisFailureLabel>
    let redisRepeats: Single
    let issued: Counters<IssuedLabel>
    let keyFetches: NamedCounters<KeyFetchLabel>
    let auditFailures: Single
    let trimmedAuditLines: Single
    let events: Counters<EventType>
    let eventDeliveries: Counters<EventDeliveryLabel>
    let eventDelays: Histograms<EventType>
    let lostEvents: Counters<EventLossLabel>
    let spans: Counters<SpanLabel>
    let droppedLines: Single
    let starts: Single

    init(_ names: MetricNames = MetricNames()) {
        var builder = Builder()
        requests = builder.pairs("cloakroom_requests_total", "Requests answered.")
        requestDurations = builder.histograms(
            "cloakroom_request_duration_seconds", "From a whole request to its answer.")
        upstreamAttempts = builder.pairs(
            "cloakroom_upstream_attempts_total", "Tries at calls to AWS, retries included.")
        upstreamDurations = builder.histograms("cloakroom_upstream_duration_seconds", "One try at one call.")
        roleCalls = builder.named(
            "cloakroom_role_calls_total",
            "Calls of STS for users' sessions, by the role assumed; retries are not counted.",
            "role", names.roles)
        limits = builder.pairs(
            "cloakroom_limit_decisions_total", "Rate limit decisions; open and closed are those made without Redis.")
        halfUsed = builder.counters(
            "cloakroom_limit_half_used_total", "Windows of a device or a user of which half was used up.")
        usedUp = builder.counters(
            "cloakroom_limit_used_up_total", "Windows of a device or a user of which all was used up.")
        crowdedAddresses = builder.counter(
            "cloakroom_crowded_addresses_total",
            "Addresses at which many users got credentials or sessions within ten minutes.")
        entitlementRefusals = builder.counters(
            "cloakroom_entitlement_refusals_total", "Requests of users who are not entitled to them.")
        omittedShares = builder.counters(
            "cloakroom_omitted_shares_total", "Shared folders that a session could not be given.")
        renewals = builder.counters("cloakroom_renewals_total", "Keys that were to be renewed.")
        renewalMisconfigurations = builder.counter(
            "cloakroom_renewal_misconfigurations_total",
            "Renewal requests answered 503 because the worker's permissions, bucket or keys are wrong or may be.")
        releases = builder.counters("cloakroom_releases_total", "Images of chats that were to be released.")
        allowedCopies = builder.gauge(
            "cloakroom_renewal_copies_allowed", "Copies that may be on the way at once; fewer after SlowDown.")
        cache = builder.counters("cloakroom_credential_cache_total", "Look-ups of vended credentials.")
        redis = builder.counters("cloakroom_redis_failures_total", "Commands without an answer of use.")
        redisRepeats = builder.counter(
            "cloakroom_redis_repeats_total",
            "Limit counts and reads sent again because their reply was lost; each may have been counted twice.")
        issued = builder.counters(
            "cloakroom_issued_total", "Credentials, upload URLs and sessions that left the worker.")
        keyFetches = builder.named(
            "cloakroom_key_fetches_total", "Fetches of issuers' keys.", "issuer", names.issuers)
        auditFailures = builder.counter(
            "cloakroom_audit_failures_total", "Audit lines that could not be written; nothing was issued for them.")
        trimmedAuditLines = builder.counter(
            "cloakroom_audit_lines_trimmed_total", "Audit lines that a full Redis stream dropped for newer ones.")
        events = builder.counters("cloakroom_events_total", "Events that Redis took.")
        eventDeliveries = builder.counters(
            "cloakroom_event_deliveries_total", "Attempts at posting an event to the webhook.")
        eventDelays = builder.histograms(
            "cloakroom_event_delay_seconds", "From Redis taking an event to the webhook taking it.")
        lostEvents = builder.counters(
            "cloakroom_events_undelivered_total", "Events that were lost, or are dead.")
        spans = builder.counters("cloakroom_spans_total", "Spans of requests that were traced.")
        droppedLines = builder.counter("cloakroom_log_lines_dropped_total", "Log lines that could not be written.")
        starts = builder.counter("cloakroom_worker_starts_total", "Workers started.")
        families = builder.families
        count = builder.count
        description = builder.families.flatMap(\.series).map { "\($0.index) \($0.title)" }.joined(separator: "\n")
        fingerprint = Self.fingerprint(of: description)
    }

    /// A line for each series: its index and its title.
    let description: String
    /// Changes whenever an index does: rows of another layout are added up by the titles of their series.
    let fingerprint: String

    static func fingerprint(of description: String) -> String {
        String(SHA256.hash(description.utf8).hexadecimal.prefix(12))
    }

    private let boundsInNanoseconds = bounds.map { UInt64($0 * 1e9) }

    /// The index of a duration within a histogram: buckets come first, then the sum in microseconds.
    func bucket(_ nanoseconds: UInt64) -> Int {
        boundsInNanoseconds.firstIndex { nanoseconds <= $0 } ?? boundsInNanoseconds.count
    }

    static var histogramWidth: Int { bounds.count + 2 }

    private struct Builder {
        var families: [Family] = []
        var count = 0

        mutating func counter(_ name: String, _ help: String) -> Single {
            Single(index: add(name, help, "counter", [[]]))
        }

        mutating func gauge(_ name: String, _ help: String) -> Single {
            Single(index: add(name, help, "gauge", [[]]))
        }

        mutating func counters<Label: MetricLabel>(_ name: String, _ help: String) -> Counters<Label> {
            Counters(base: add(name, help, "counter", Label.allCases.map { [(Label.name, $0.value)] }))
        }

        mutating func pairs<Row: MetricLabel, Column: MetricLabel>(
            _ name: String, _ help: String
        ) -> CounterPairs<Row, Column> {
            let labels = Row.allCases.flatMap { row in
                Column.allCases.map { [(Row.name, row.value), (Column.name, $0.value)] }
            }
            return CounterPairs(base: add(name, help, "counter", labels), columns: Column.allCases.count)
        }

        mutating func named<Column: MetricLabel>(
            _ name: String, _ help: String, _ label: String, _ names: [String]
        ) -> NamedCounters<Column> {
            let labels = names.flatMap { name in Column.allCases.map { [(label, name), (Column.name, $0.value)] } }
            return NamedCounters(base: add(name, help, "counter", labels), names: names)
        }

        mutating func histograms<Label: MetricLabel>(_ name: String, _ help: String) -> Histograms<Label> {
            let base = count
            var family = Family(name: name, help: help, kind: "histogram")
            for label in Label.allCases.map({ (Label.name, $0.value) }) {
                for (offset, bound) in (bounds.map { "\($0)" } + ["+Inf"]).enumerated() {
                    family.series.append(
                        Series(name: name + "_bucket", labels: [label, ("le", bound)], index: count + offset))
                }
                family.series.append(
                    Series(name: name + "_sum", labels: [label], index: count + bounds.count + 1, scale: 1e-6))
                count += histogramWidth
            }
            families.append(family)
            return Histograms(base: base)
        }

        /// - Returns: where the first of the series stands.
        private mutating func add(
            _ name: String, _ help: String, _ kind: String, _ labels: [[(String, String)]]
        ) -> Int {
            defer { count += labels.count }
            families.append(
                Family(
                    name: name, help: help, kind: kind,
                    series: labels.enumerated().map { Series(name: name, labels: $1, index: count + $0) }))
            return count
        }
    }
}
