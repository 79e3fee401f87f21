import CloakroomLoop

/// How far a request gets without waiting.
enum RequestStep {
    case done(RouteResponse)
    /// Who it is, what is counted, and what is to be done then.
    case work(Subject, RequestPlan)
    /// To identify the caller, a request has to be sent first.
    case waiting(@LoopActor @Sendable () async -> RequestStep)

    /// The response to HEAD where it is known at once (RFC 3875 §4.3.3: a response to HEAD has no body).
    var withoutBody: RequestStep {
        guard case .done(var answer) = self else { return self }
        answer.response.body = []
        return .done(answer)
    }
}

/// What a request costs and leads to, as soon as the caller is known.
struct RequestPlan {
    /// What is done for a subject who is entitled to it.
    typealias Work = @LoopActor @Sendable (Subject, Entitlement) -> RequestOutcome

    let cost: RateLimitCost
    /// Whether a new identity token would help where this one is older than a revocation.
    var isSignIn = false
    let work: Work
}

/// What work comes to.
enum RequestOutcome {
    case answered(RouteResponse)
    /// The response leaves when the line that tells of it is written; without the line nothing is issued.
    case issued(AuditLog.Issuance, RouteResponse)
    /// STS or S3 has to be called first.
    case waiting(@LoopActor @Sendable () async -> RequestOutcome)
}
