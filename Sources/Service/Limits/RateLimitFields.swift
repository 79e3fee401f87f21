import HTTPValues

extension Settings.Limit {
    /// An element of `RateLimit-Policy`, such as `"renew";q=10;w=3600`, or `"renewKeys";q=1000;w=3600;qu="keys"`.
    func policy(named name: LimitName) -> String {
        let unit = name.unit.map { ";qu=\"\($0)\"" } ?? ""
        return "\"\(name.rawValue)\";q=\(quota);w=\(window.components.seconds)\(unit)"
    }
}

extension HeaderFields {
    /// Adds `RateLimit-Policy` and `RateLimit`, a list each (draft-ietf-httpapi-ratelimit-headers), and `Retry-After`
    /// on a refusal.
    mutating func add(_ name: LimitName, policy: String, _ decision: LimitDecision) {
        if decision.verdict != .closed {
            add("RateLimit-Policy", policy)
            var text = decision.requests.element(name)
            if let volume = decision.volume, let name = name.volume { text += ", " + volume.element(name) }
            add("RateLimit", text)
        }
        if !decision.isAllowed { add("Retry-After", String(Swift.max(1, decision.retryAfter.wholeSeconds))) }
    }
}

extension LimitDecision.Window {
    fileprivate func element(_ name: LimitName) -> String {
        "\"\(name.rawValue)\";r=\(remaining);t=\(reset.wholeSeconds)"
    }
}

extension Duration {
    /// Rounded up: who comes back then finds a new window.
    fileprivate var wholeSeconds: Int { (milliseconds + 999) / 1000 }
}
