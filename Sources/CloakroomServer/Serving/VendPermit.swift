import CloakroomLoop

/// Whether one request for credentials may call STS: counted in `limits.vend`, and only when nothing at hand would do.
@LoopActor
final class VendPermit {
    private let subject: Subject
    private let terms: RateLimitPolicy
    private let limiter: RateLimiter
    private let metrics: Metrics
    /// `nil` until it was requested.
    private(set) var limited: RouteResponse.Limited?

    /// - Parameter terms: those of the subject's tier.
    init(_ subject: Subject, _ terms: RateLimitPolicy, _ limiter: RateLimiter, _ metrics: Metrics) {
        self.subject = subject
        self.terms = terms
        self.limiter = limiter
        self.metrics = metrics
    }

    /// Counts once, however often it is requested.
    func take() async -> Bool {
        if let limited { return limited.decision.isAllowed }
        let decision = await limiter.take(.vend, for: subject, by: terms)
        metrics.limited(.vend, decision)
        limited = RouteResponse.Limited(terms: terms, decision: decision)
        return decision.isAllowed
    }

    /// What a response with credentials tells; `nil` for the limit of all vends.
    var granted: RouteResponse.Limited? { limited.flatMap { $0.decision.isAllowed ? $0 : nil } }

    /// The response where STS may not be called; `nil` if it may, or was not to be called.
    var refusal: RouteResponse? {
        limited.flatMap { $0.decision.isAllowed ? nil : .refused(.vend, $0.decision) }
    }
}
