import HTTPValues

extension HeaderFields {
    /// Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), and `Retry-After` on a refusal.
    mutating func add(_ name: LimitName, _ limit: Settings.Limit, _ decision: LimitDecision) {
        // Rounded up: who comes back then finds a new window.
        let seconds = (decision.reset.milliseconds + 999) / 1000
        if decision.verdict != .closed {
            add("RateLimit-Policy", "\"\(name.rawValue)\";q=\(limit.requests);w=\(limit.window.components.seconds)")
            add("RateLimit", "\"\(name.rawValue)\";r=\(decision.remaining);t=\(seconds)")
        }
        if !decision.isAllowed { add("Retry-After", String(Swift.max(1, seconds))) }
    }
}
