import CloakroomLoop

/// Whether a request that is under way may do what is limited besides: counted only when it comes to that, and once.
///
/// A request for credentials is counted in `limits.vend` when it has to call STS, an upload in `limits.uploadBytes` for what
/// is known when it is complete.
@LoopActor
final class LimitPermit {
    private let cost: RateLimitCost
    private let subject: Subject
    private let terms: RateLimitPolicy
    private let limiter: RateLimiter
    private let metrics: Metrics
    /// `nil` until it was requested; of what was given back, with what is left then.
    private(set) var limited: RouteResponse.Limited?
    /// Whether it is counted, and may be given back.
    private var isRefundable = false
    private var isGivenBack = false

    /// - Parameter terms: those of the subject's tier.
    init(
        _ cost: RateLimitCost, _ subject: Subject, _ terms: RateLimitPolicy, _ limiter: RateLimiter, _ metrics: Metrics
    ) {
        self.cost = cost
        self.subject = subject
        self.terms = terms
        self.limiter = limiter
        self.metrics = metrics
    }

    /// Counts once, however often it is requested; again after ``giveBack()``.
    func isGranted() async -> Bool {
        if let limited, !isGivenBack { return limited.decision.isAllowed }
        return await withCheckedContinuation { continuation in
            let begin = Monotonic.now
            limiter.count(cost, for: subject, by: terms) { [self] decision in
                metrics.decided(cost, decision)
                (isRefundable, isGivenBack) = (decision.isAllowed, false)
                limited = RouteResponse.Limited(
                    terms: terms, decision: decision, nanoseconds: Monotonic.now &- begin)
                continuation.resume(returning: decision.isAllowed)
            }
        }
    }

    /// Counts it no more, where nothing came of what it was for.
    func giveBack() {
        guard isRefundable, let given = limited else { return }
        (isRefundable, isGivenBack) = (false, true)
        limiter.refund(of: cost, for: subject, given.decision, by: terms)
        limited = RouteResponse.Limited(
            terms: terms, decision: given.decision.refunding(.all, of: cost), nanoseconds: given.nanoseconds)
    }

    /// Has it counted for good, where it is known what came of it.
    func keep() {
        guard isRefundable, let limited else { return }
        isRefundable = false
        metrics.counted(cost, limited.decision, by: terms)
    }

    /// What a response tells of it where it was granted.
    var granted: RouteResponse.Limited? { limited.flatMap { $0.decision.isAllowed ? $0 : nil } }

    /// The response where it was not granted; `nil` if it was, or was not requested.
    var refusal: RouteResponse? {
        guard let limited, !limited.decision.isAllowed else { return nil }
        var answer = RouteResponse.refused(cost, limited.decision)
        answer.limited = limited
        return answer
    }
}
