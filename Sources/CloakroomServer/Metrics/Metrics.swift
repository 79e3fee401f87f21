package import CloakroomAWS
package import CloakroomLoop
package import CloakroomRedis

/// Counts what the worker does, in a row of counters that its neighbours can read.
@LoopActor
package final class Metrics {
    let layout: MetricsLayout
    let row: MappedCounters
    let inFlight: RequestsInFlight
    /// In seconds since 1970; `nil` where several supervisors share one folder of metrics: each would have one of its own.
    package var serviceStart: Int?
    private let use: FileUse?

    /// In a row that is not shared.
    package convenience init(_ names: MetricNames = MetricNames()) throws(SystemError) {
        let layout = MetricsLayout(names)
        try self.init(layout: layout, row: .anonymous(count: layout.count))
    }

    /// - Parameters:
    ///   - row: at least as long as the layout.
    ///   - use: shows that the row is in use; `nil` for one that is not shared.
    init(layout: MetricsLayout, row: MappedCounters, use: FileUse? = nil) throws(SystemError) {
        self.layout = layout
        self.row = row
        self.use = use
        inFlight = try RequestsInFlight()
        count(layout.starts)
    }

    func answered(_ route: RouteLabel, status: Int, nanoseconds: UInt64) {
        row.add(1, at: layout.requests[route, StatusLabel(status)])
        observe(nanoseconds, at: layout.requestDurations[route])
    }

    package func attempted(_ attempt: Attempt) {
        let upstream = UpstreamLabel(attempt.service)
        row.add(1, at: layout.upstreamAttempts[upstream, AttemptLabel(attempt.fault)])
        observe(attempt.duration.nanoseconds, at: layout.upstreamDurations[upstream])
    }

    func called(_ role: SessionRole, _ outcome: RoleCallLabel) {
        if let index = layout.roleCalls[role.name, outcome] { row.add(1, at: index) }
    }

    /// Once a request: under the window that refuses it, else under that of its kind.
    ///
    /// - Parameter terms: those by which it was decided.
    package func limited(_ cost: RateLimitCost, _ decision: RateLimitDecision, by terms: RateLimitPolicy) {
        decided(cost, decision)
        counted(cost, decision, by: terms)
    }

    /// The first part of ``limited(_:_:by:)``, of what may be given back.
    func decided(_ cost: RateLimitCost, _ decision: RateLimitDecision) {
        row.add(1, at: layout.limits[decision.refusing ?? cost.name, decision.verdict])
    }

    /// The second part, of what stays counted: what is given back uses up no window.
    func counted(_ cost: RateLimitCost, _ decision: RateLimitDecision, by terms: RateLimitPolicy) {
        // Redis counts for all workers, one by one: of a window, one request alone takes the one that makes half of it.
        guard decision.verdict == .allowed, let window = WindowLabel(cost.name, isOfUser: false),
            let userWindow = WindowLabel(cost.name, isOfUser: true)
        else { return }
        used(window, decision.requests, of: terms.requests.quota)
        used(userWindow, decision.userRequests, of: terms.requests.userQuota)
    }

    private func used(_ window: WindowLabel, _ left: RateLimitDecision.Window, of quota: Int) {
        guard !left.isExceeded else { return }
        if left.remaining == quota / 2 { row.add(1, at: layout.halfUsed[window]) }
        if left.remaining == 0 { row.add(1, at: layout.usedUp[window]) }
    }

    /// An address at which many users got credentials or sessions.
    func metCrowd() { count(layout.crowdedAddresses) }

    package func refused(_ refusal: Entitlement.Refusal) { row.add(1, at: layout.entitlementRefusals[refusal]) }
    func omittedShare(_ why: SharingRules.Omission) { row.add(1, at: layout.omittedShares[why]) }
    package func renewed(_ outcome: Renewal.Outcome) { row.add(1, at: layout.renewals[RenewalLabel(outcome)]) }

    /// A key outside the folders of the user who named it.
    func refusedKeyOutsideFolders() { row.add(1, at: layout.renewals[.outsideFolders]) }

    /// A request that got no results, for the worker may lack permissions.
    func refusedForConfiguration() { count(layout.renewalMisconfigurations) }

    /// For a gauge: rows are added up, so the row keeps what is and not what was.
    package func allowsCopies(_ count: Int) {
        let index = layout.allowedCopies.index
        row.add(UInt64(count) &- row[index], at: index)
    }

    package func lookedUp(_ outcome: CacheLabel) { row.add(1, at: layout.cache[outcome]) }
    package func redisFailed(_ error: RedisError) { row.add(1, at: layout.redis[RedisFailureLabel(error)]) }
    func repeatedRedisRequest() { count(layout.redisRepeats) }
    package func issued(_ kind: AuditLog.Issuance.Kind) {
        if let label = IssuedLabel(kind) { row.add(1, at: layout.issued[label]) }
    }

    func released(_ outcome: ReleaseLabel) { row.add(1, at: layout.releases[outcome]) }

    /// - Parameter failure: `nil` for success.
    func fetchedKeys(of issuer: String, _ failure: KeyFetchError?) {
        if let index = layout.keyFetches[issuer, KeyFetchLabel(failure)] { row.add(1, at: index) }
    }

    /// Redis took an event.
    func recordedEvent(_ type: EventType) { row.add(1, at: layout.events[type]) }

    func postedEvent(_ outcome: EventDeliveryLabel) { row.add(1, at: layout.eventDeliveries[outcome]) }

    func deliveredEvent(_ type: EventType, after delay: Duration) {
        observe(delay.nanoseconds, at: layout.eventDelays[type])
    }

    func lostEvents(_ number: Int, _ reason: EventLossLabel) { row.add(UInt64(number), at: layout.lostEvents[reason]) }

    func traced(_ spans: Int, _ outcome: SpanLabel) { row.add(UInt64(spans), at: layout.spans[outcome]) }

    func auditFailed() { count(layout.auditFailures) }
    func trimmedAuditLines(_ lines: Int) { count(layout.trimmedAuditLines, by: lines) }
    package func linesDropped(_ lines: Int) { count(layout.droppedLines, by: lines) }

    private func count(_ counter: MetricsLayout.Single, by number: Int = 1) {
        row.add(UInt64(number), at: counter.index)
    }

    private func observe(_ nanoseconds: UInt64, at base: Int) {
        row.add(1, at: base + layout.bucket(nanoseconds))
        row.add(nanoseconds / 1000, at: base + MetricsLayout.bounds.count + 1)
    }
}
