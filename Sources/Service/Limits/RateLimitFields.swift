import HTTPValues

extension Settings.Limit {
    /// The value of `RateLimit-Policy`, such as `"renew";q=10;w=3600`.
    func policy(named name: LimitName) -> String {
        "\"\(name.rawValue)\";q=\(requests);w=\(window.components.seconds)"
    }
}

extension HeaderFields {
    /// Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), and `Retry-After` on a refusal.
    mutating func add(_ name: LimitName, policy: String, _ decision: LimitDecision) {
        // Rounded up: who comes back then finds a new window.
        let seconds = (decision.reset.milliseconds + 999) / 1000
        if decision.verdict != .closed {
            add("RateLimit-Policy", policy)
            add("RateLimit", "\"\(name.rawValue)\";r=\(decision.remaining);t=\(seconds)")
        }
        if !decision.isAllowed { add("Retry-After", String(Swift.max(1, seconds))) }
    }
}
