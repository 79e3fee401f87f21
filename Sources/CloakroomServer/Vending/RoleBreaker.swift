import CloakroomAWS

/// Stops calls for a role whose STS or credentials do not work, so that its users do not hold up those of other roles.
///
/// After ``threshold`` calls in a row without a response of use it opens for ``pause``; then one call at a time is let
/// through, until one has a response.
struct RoleBreaker {
    /// Throttling that lets some calls through never opens it.
    static let threshold = 20
    static let pause: Duration = .seconds(1)

    private var failures = 0
    private var end: ContinuousClock.Instant?
    private var isProbing = false

    /// What it does with the next call.
    enum State: String {
        case closed
        /// No call is made.
        case open
        /// One call is let through.
        case probing
    }

    /// Calls in a row without a response of use.
    var failureCount: Int { failures }

    func state(at now: ContinuousClock.Instant) -> State {
        guard let end else { return .closed }
        return now < end ? .open : .probing
    }

    /// For how long no call is made; `nil` when one may be.
    func refusal(at now: ContinuousClock.Instant) -> Duration? {
        guard let end else { return nil }
        if now < end { return now.duration(to: end) }
        return isProbing ? Self.pause : nil
    }

    /// To be called for each call that is made.
    mutating func starts() { if end != nil { isProbing = true } }

    mutating func ended(with error: STSError?, at now: ContinuousClock.Instant) {
        isProbing = false
        switch error {
        case .unavailable:
            failures += 1
            if failures >= Self.threshold { end = now.advanced(by: Self.pause) }
        // STS responded: whatever is wrong is not the way to it.
        case nil, .refused, .unusable: (failures, end) = (0, nil)
        case .cancelled: break
        }
    }
}
