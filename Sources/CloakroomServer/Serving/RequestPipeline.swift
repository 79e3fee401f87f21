import CloakroomHTTP
import CloakroomLoop
import CloakroomWire

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
    /// Whether the keys or bytes count no more where it ends in an error: nothing has begun then, and nothing was handed out.
    var refundsQuantity = false
    let work: Work
}

/// What work comes to.
enum RequestOutcome {
    case answered(RouteResponse)
    /// The response leaves when the line that tells of it is written; without the line nothing is issued.
    case issued(AuditLog.Issuance, RouteResponse)
    /// STS has to be called first.
    case vending(PendingVend)
    /// S3 has to be called first.
    case waiting(@LoopActor @Sendable () async -> RequestOutcome)
}

/// One request on its way to its response: the caller is counted, what may be done is done, one line is logged.
///
/// Only what calls STS, S3 or a source of keys is a task. Redis and the audit are told what to do next instead: that is
/// most requests, and a task that waits twice costs as much as all the rest of them.
@LoopActor
final class RequestPipeline {
    /// Without its content.
    private let request: Request
    /// `nil` for a path that is none of ours.
    private let route: Route?
    private let label: RouteLabel
    private let start: UInt64
    private var waits = RequestWaits()
    /// `nil` for a request that is not traced.
    private let trace: RequestTrace?
    /// Whether the keys or bytes are given back where the request ends in an error.
    private var refundsQuantity = false
    private let service: CloakroomService
    private let respond: CloakroomService.Responder

    /// - Parameters:
    ///   - start: in ``Monotonic`` nanoseconds.
    ///   - respond: called once.
    init(
        _ request: Request, _ match: RouteTable.Match?, since start: UInt64, of service: CloakroomService,
        _ respond: @escaping CloakroomService.Responder
    ) {
        self.request = request.withoutContent
        route = match?.route
        label = match?.label ?? .unknown
        self.start = start
        self.service = service
        self.respond = respond
        trace = service.tracer?.begin(request)
        service.inFlight.begin(label)
    }

    func run(_ step: RequestStep) {
        switch step {
        case .done(let answer): finish(answer)
        case .work(let subject, let plan): count(plan, for: subject)
        case .waiting(let next):
            LoopActor.spawn { [self] in
                let begin = Monotonic.now
                let next = await next()
                waits.keys += waited(for: .keys, since: begin)
                run(next)
            }
        }
    }

    /// May the subject do it, and once more? Then the work; the response tells what is left.
    private func count(_ plan: RequestPlan, for subject: Subject) {
        let begin = Monotonic.now
        refundsQuantity = plan.refundsQuantity
        service.admissions.admit(plan.cost, subject) { [self] admission in
            waits.redis += waited(for: .redis, since: begin)
            let counted = Counted(cost: plan.cost, subject: subject, admission: admission)
            let decision = admission.decision
            service.dependencies.metrics.limited(plan.cost, decision, by: admission.terms)
            switch (decision.verdict, admission.entitlement) {
            case (.closed, _): finish(.refused(plan.cost, decision), counted)
            case (_, .failure(let refusal)):
                var answer = service.refused(refusal)
                if plan.isSignIn, decision.isAllowed, let wait = admission.signInWait {
                    answer.response.fields.add("Retry-After", String(wait))
                }
                finish(answer, counted)
            case (.refused, _), (.openRefused, _): finish(.refused(plan.cost, decision), counted)
            case (.allowed, .success(let entitlement)), (.open, .success(let entitlement)):
                complete(plan.work(subject, entitlement), counted)
            }
        }
    }

    /// What every response to a counted request tells of.
    private struct Counted {
        let cost: RateLimitCost
        let subject: Subject
        let admission: Admission
    }

    private func complete(_ outcome: consuming RequestOutcome, _ counted: Counted) {
        switch consume outcome {
        case .answered(let answer): finish(answer, counted)
        case .issued(let issue, let answer):
            let begin = Monotonic.now
            service.dependencies.audit.record(issue) { [self] isKept in
                waits.audit += waited(for: .audit, since: begin)
                finish(isKept ? issued(issue, answer) : notIssued(), counted)
            }
        case .vending(let vend):
            LoopActor.spawn { [self] in
                let begin = Monotonic.now
                complete(vend, await vend.result(), since: begin, counted)
            }
        case .waiting(let next):
            LoopActor.spawn { [self] in
                let begin = Monotonic.now
                let outcome = await next()
                waits.add(waited(for: .s3, since: begin), to: .s3)
                complete(outcome, counted)
            }
        }
    }

    // Not inlined, as in `Retrier`: the outcome is large.
    @inline(never) private func complete(
        _ vend: PendingVend, _ result: CredentialCache.Result, since begin: UInt64, _ counted: Counted
    ) {
        waits.add(waited(for: .sts, since: begin), to: .sts)
        complete(vend.outcome(of: result), counted)
    }

    /// How long it was; a request that is traced takes note.
    private func waited(for wait: RequestTrace.Wait, since begin: UInt64) -> UInt64 {
        let end = Monotonic.now
        trace?.add(wait, from: begin, to: end)
        return end &- begin
    }

    private func issued(_ issue: AuditLog.Issuance, _ answer: consuming RouteResponse) -> RouteResponse {
        service.dependencies.metrics.issued(issue.kind)
        service.watchCrowds(issue)
        return answer
    }

    private func notIssued() -> RouteResponse {
        service.dependencies.metrics.auditFailed()
        service.dependencies.log.error("audit line could not be written; nothing was issued")
        return .unavailable(retryAfter: .seconds(5), reason: "audit")
    }

    private func finish(_ answer: consuming RouteResponse, _ counted: Counted) {
        let admission = counted.admission
        let limited = answer.limited
        if let limited { waits.counted(limited.nanoseconds) }
        let decision = answer.fault == nil ? admission.decision : refunded(counted, isUnserved: answer.isUnserved)
        answer.response.fields.add(limited?.terms ?? admission.terms, limited?.decision ?? decision)
        answer.user = counted.subject.userID.text
        finish(answer)
    }

    /// Nothing waits for the refund: what the device requests next is counted after it.
    @inline(never) private func refunded(_ counted: Counted, isUnserved: Bool) -> RateLimitDecision {
        let (decision, terms) = (counted.admission.decision, counted.admission.terms)
        guard isUnserved || refundsQuantity else { return decision }
        let refund: RateLimitRefund = isUnserved ? .all : .quantity
        service.dependencies.limiter.refund(refund, of: counted.cost, for: counted.subject, decision, by: terms)
        return decision.refunding(refund, of: counted.cost)
    }

    private func finish(_ answer: consuming RouteResponse) {
        if let fault = answer.fault, let route {
            if route == .webIdentity {
                answer.response = STSResponse.error(fault, answer.response, id: request.id)
            } else if route.isCompanion {
                answer.response.body = fault.companionBody
            }
        }
        let nanoseconds = Monotonic.now &- start
        service.dependencies.metrics.answered(label, status: answer.response.status, nanoseconds: nanoseconds)
        service.inFlight.end(label)
        record(answer, nanoseconds)
        respond(answer.response)
        if let event = answer.event, let user = answer.user {
            service.dependencies.events?.record(event, of: user, by: request)
        }
        if let trace {
            service.tracer?.finish(
                trace, request, route: route?.rawValue, status: answer.response.status, since: start)
        }
    }

    private func record(_ answer: RouteResponse, _ nanoseconds: UInt64) {
        let status = answer.response.status
        service.dependencies.log.write(Self.level(status, route), "request", reason: answer.reason) { line in
            line.text("route", route?.rawValue ?? "unknown")
            line.text("method", request.method)
            line.integer("status", status)
            line.integer("milliseconds", Int(nanoseconds / 1_000_000))
            if let id = request.id { line.id("request", id) }
            if let trace = request.trace { line.trace("trace", trace) }
            if let user = answer.user { line.text("user", user) }
            if let session = answer.sessionName { line.text("session", session) }
            if let reason = answer.reason { line.text("reason", reason) }
            if let limit = service.slowNanoseconds, nanoseconds >= limit { waits.write(to: &line) }
        }
    }

    private static func level(_ status: Int, _ route: Route?) -> Settings.Log.Level {
        switch (status, route) {
        case (500, _): .error
        case (503, .readiness), (_, .health), (_, .metrics), (_, .status): .debug
        case (503, _): .warning
        default: .info
        }
    }
}
