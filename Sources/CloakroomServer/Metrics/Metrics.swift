package import CloakroomAWS
package import CloakroomWire
package import CloakroomLoop
package import CloakroomRedis

/// Counts what the worker does, in a row of counters that its neighbours can read.
@LoopActor
package final class Metrics {
    let layout: MetricsLayout
    let row: MappedCounters

    /// - Parameter row: at least as long as the layout; `nil` for one that is not shared.
    package convenience init() throws(SystemError) {
        let layout = MetricsLayout()
        try self.init(layout: layout, row: .anonymous(count: layout.count))
    }

    init(layout: MetricsLayout, row: MappedCounters) {
        self.layout = layout
        self.row = row
        row.add(1, at: layout.starts)
    }

    package func answered(_ route: Route?, status: Int, nanoseconds: UInt64) {
        let index = MetricsLayout.index(of: route)
        let width = MetricsLayout.statuses.count + 1
        let column = MetricsLayout.statuses.firstIndex(of: status) ?? MetricsLayout.statuses.count
        row.add(1, at: layout.requests + index * width + column)
        observe(nanoseconds, at: layout.requestDurations + index * MetricsLayout.histogramWidth)
    }

    package func attempted(_ attempt: Attempt) {
        let upstream = attempt.service == .sts ? 0 : 1
        let outcome = attempt.fault.map { Self.index($0.kind) } ?? 0
        row.add(1, at: layout.upstreamAttempts + upstream * MetricsLayout.upstreamOutcomes.count + outcome)
        observe(attempt.duration.nanoseconds, at: layout.upstreamDurations + upstream * MetricsLayout.histogramWidth)
    }

    /// Once a request: under the window that refuses it, else under that of its kind.
    package func limited(_ cost: RateLimitCost, _ decision: RateLimitDecision) {
        let verdicts = RateLimitDecision.Verdict.allCases
        let name = decision.refusing ?? cost.name
        guard let row = RateLimitName.allCases.firstIndex(of: name),
            let column = verdicts.firstIndex(of: decision.verdict)
        else { return }
        self.row.add(1, at: layout.limits + row * verdicts.count + column)
    }

    package func refused(_ refusal: Entitlement.Refusal) {
        guard let index = Entitlement.Refusal.allCases.firstIndex(of: refusal) else { return }
        row.add(1, at: layout.entitlementRefusals + index)
    }

    package func renewed(_ outcome: Renewal.Outcome) { row.add(1, at: layout.renewals + Self.index(outcome)) }

    /// A key outside the folders of the user who named it.
    package func refusedForbiddenKey() { row.add(1, at: layout.renewals + MetricsLayout.renewalOutcomes.count - 1) }

    /// A request that got no results, for the worker may lack permissions.
    package func refusedForConfiguration() { row.add(1, at: layout.renewalMisconfigurations) }

    package func allowsCopies(_ count: Int) { set(count, at: layout.allowedCopies) }

    package enum CacheOutcome: Int, Sendable { case hit, miss, joined, off, shared, previous, refused }

    package func lookedUp(_ outcome: CacheOutcome) { row.add(1, at: layout.cache + outcome.rawValue) }

    package func redisFailed(_ error: RedisError) {
        let reasons = MetricsLayout.redisFailures
        row.add(1, at: layout.redis + (reasons.firstIndex(of: error.label) ?? reasons.count - 1))
    }

    package func repeatedRedisRequest() { row.add(1, at: layout.redisRepeats) }

    package func issued(_ kind: AuditLog.Issuance.Kind) {
        switch kind {
        case .credentials: row.add(1, at: layout.issued)
        case .upload: row.add(1, at: layout.issued + 1)
        case .session: row.add(1, at: layout.issued + 2)
        }
    }

    /// - Parameter failure: `nil` for success.
    package func fetchedKeys(_ failure: KeyFetchError?) {
        let index = failure.flatMap { KeyFetchError.allCases.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        row.add(1, at: layout.keyFetches + index)
    }

    package func auditFailed() { row.add(1, at: layout.auditFailures) }
    package func linesDropped(_ count: Int) { row.add(UInt64(count), at: layout.droppedLines) }

    /// For a gauge: rows are added up, so the row keeps what is and not what was.
    private func set(_ value: Int, at index: Int) { row.add(UInt64(value) &- row[index], at: index) }

    private func observe(_ nanoseconds: UInt64, at base: Int) {
        row.add(1, at: base + layout.bucket(nanoseconds))
        row.add(nanoseconds / 1000, at: base + MetricsLayout.bounds.count + 1)
    }

    private static func index(_ kind: AWSError.Kind) -> Int {
        switch kind {
        case .throttled: 1
        case .transient: 2
        case .staleCredentials: 3
        case .skewedClock: 4
        case .refused: 5
        case .noCredentials: 6
        case .cancelled: 7
        }
    }

    private static func index(_ outcome: Renewal.Outcome) -> Int {
        switch outcome {
        case .renewed: 0
        case .recentlyWritten: 1
        case .notFound: 2
        case .archived: 3
        case .invalidKey: 4
        case .unrenewable: 5
        case .accessDenied: 6
        case .refused, .misconfigured: 7
        case .unavailable: 8
        }
    }
}
