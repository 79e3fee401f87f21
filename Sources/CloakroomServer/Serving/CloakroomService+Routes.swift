import CloakroomAWS
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloakroomService {
    /// `POST /api/v1/auth/sts-token`, `GET /v1/credentials` and `GET /companion/s3/sts`.
    func vend(_ request: Request, _ route: Route) -> RequestStep {
        identified(request, .vendAll, acceptsBare: route == .containerCredentials) {
            [self] subject, entitlement in
            switch narrowed(entitlement.grant, by: request, route) {
            case .success(let grant): vended(grant, to: subject, entitlement, request.withoutContent, .json(route))
            case .failure(let refused): .answered(refused.answer)
            }
        }
    }

    /// `POST /sts`: the same, as AWS SDKs request it of STS.
    func assumeRole(_ request: Request) -> RequestStep {
        let asked: WebIdentityRequest
        do throws(WebIdentityFault) { asked = try WebIdentityRequest(request) } catch { return .done(error.answer) }
        let request = request.withoutContent
        let token = asked.token[...]
        return identified(
            dependencies.authenticator.identify(token, maximumByteCount: asked.maximumTokenBytes)
        ) {
            RequestPlan(cost: .vendAll) { [self] subject, entitlement in
                switch narrowed(entitlement.grant, by: asked) {
                case .success(let grant):
                    vended(grant, to: subject, entitlement, request, .sts(asked.action, session: asked.sessionName))
                case .failure(let refused): .answered(refused.answer)
                }
            }
        }
    }

    /// How credentials are told.
    enum VendingWire {
        /// Of one of the routes in JSON.
        case json(Route)
        /// Without the token, which nothing needs while STS is waited for.
        case sts(WebIdentityRequest.Action, session: String?)
    }

    /// - Parameter request: without its content.
    private func vended(
        _ grant: Grant, to subject: Subject, _ entitlement: Entitlement, _ request: Request, _ wire: VendingWire
    ) -> RequestOutcome {
        if let refusal = entitlement.refusal(of: .vend(writes: grant.scope.writes)) {
            return .answered(refused(refusal))
        }
        var grant = grant
        if grant.scope.policy.namesClientAddress {
            guard let address = request.peerAddress.flatMap(IPNetwork.clientAddress) else {
                return .answered(.error(.forbidden, "Client address unknown", reason: "client_address"))
            }
            grant.clientAddress = address
        }
        if let sharing, !entitlement.shares.isEmpty {
            grant.shared = sharing.folders(entitlement.shares, for: subject.userID, grant)
        }
        let (revoked, tier) = (entitlement.revokedBefore, entitlement.tierName)
        if let held = dependencies.vendor.cached(for: subject, grant, revokedBefore: revoked) {
            return issued(held, grant, to: subject, tier: tier, request, wire)
        }
        return .vending(PendingVend(grant, to: subject, entitlement, request, wire, of: self))
    }

    func permit(_ cost: RateLimitCost, _ subject: Subject, _ entitlement: Entitlement) -> LimitPermit {
        LimitPermit(cost, subject, entitlement.tier.terms(of: cost), dependencies.limiter, dependencies.metrics)
    }

    func issued(
        _ vended: VendedSession, _ grant: Grant, to subject: Subject, tier: String?, _ request: Request,
        _ wire: VendingWire, _ limited: RouteResponse.Limited? = nil
    ) -> RequestOutcome {
        let issue = AuditLog.Issuance(.credentials(vended.audited(grant)), to: subject, tier: tier, by: request)
        var answer: RouteResponse
        switch wire {
        case .json(let route):
            answer = .json(vended.body(for: route, to: subject.userID, grant, dependencies.settings))
        case .sts(let action, let session):
            let beginning = vended.stsResponse(of: action, to: subject, grant, dependencies.settings.vending.roles)
            answer = RouteResponse(response: STSResponse.response(beginning, of: action, id: request.id))
            answer.sessionName = session
        }
        answer.limited = limited
        return .issued(issue, answer)
    }

    /// The grant, or the part of it that the request names: in its body, or where that has no body in its query.
    private func narrowed(_ grant: Grant, by request: Request, _ route: Route) -> Result<Grant, RequestRefusal> {
        guard route.vendsByQuery ? !request.query.isEmpty : !request.body.isEmpty else {
            return .success(grant)
        }
        guard let asked = try? CredentialRequest(request, route) else {
            let part = route.vendsByQuery ? "query" : "body"
            return .failure(RequestRefusal(answer: .error(.invalidRequest, "Invalid request \(part)")))
        }
        return narrowed(grant, by: asked) { RouteResponse($0, lifetime: "lifetimeSeconds") }
    }

    private func narrowed(_ grant: Grant, by asked: WebIdentityRequest) -> Result<Grant, RequestRefusal> {
        var wanted = CredentialRequest(lifetimeSeconds: asked.lifetimeSeconds)
        switch WebIdentityRole(asked.roleARN, among: dependencies.settings.vending.roles) {
        case .whole: break
        case .scope(let name): wanted.scope = name
        case .foreign:
            return .failure(RequestRefusal(answer: .error(.forbidden, "RoleArn is of another account", reason: "role")))
        case .malformed:
            return .failure(
                RequestRefusal(answer: .error(.invalidRequest, "RoleArn is no ARN of a role", reason: "role")))
        }
        return narrowed(grant, by: wanted) { RouteResponse($0, lifetime: "DurationSeconds") }
    }

    private func narrowed(
        _ grant: Grant, by asked: CredentialRequest, _ refused: (GrantRefusal) -> RouteResponse
    ) -> Result<Grant, RequestRefusal> {
        do throws(GrantRefusal) {
            return .success(try grant.narrowed(by: asked, among: dependencies.settings.vending.scopes))
        } catch {
            return .failure(RequestRefusal(answer: refused(error)))
        }
    }

    private struct RequestRefusal: Error {
        let answer: RouteResponse
    }

    /// `POST /v2/assets/renew-batch` and `PUT /v2/assets/renew`.
    func renew(_ request: Request, _ route: Route) -> RequestStep {
        guard request.isJSON else {
            return .done(.notJSON)
        }
        return identified(request) { [self] in
            let keys = Self.keys(of: request, route)
            // What cannot be read counts as a request, of no keys.
            let count = (try? keys.get().count) ?? 0
            return RequestPlan(cost: .renewal(keys: count)) { [self] subject, entitlement in
                if let refusal = entitlement.refusal(of: .renew) { return .answered(refused(refusal)) }
                switch keys {
                case .success(let keys):
                    return .waiting { [self] in .answered(await renewed(keys, of: subject, route)) }
                case .failure(let error): return .answered(.error(.invalidRequest, error.rawValue))
                }
            }
        }
    }

    private static func keys(of request: Request, _ route: Route) -> Result<[String], RenewRequestError> {
        do throws(RenewRequestError) {
            return .success(
                route == .renewBatch
                    ? try RenewBatchRequest(parsing: request.body).assetKeys
                    : [try RenewOneRequest(parsing: request.body).assetKey])
        } catch {
            return .failure(error)
        }
    }

    private func renewed(_ keys: [String], of subject: Subject, _ route: Route) async -> RouteResponse {
        var copied: [String] = []
        var isUnserved = false
        let outcome = await dependencies.renewer.renew(
            keys, of: subject.userID, copied: { copied = $0 }, unserved: { isUnserved = true })
        var answer = renewed(outcome, route)
        answer.isUnserved = isUnserved
        if !copied.isEmpty { answer.event = .assetsRenewed(objectKeys: copied) }
        return answer
    }

    private func renewed(_ outcome: Renewer.Outcome, _ route: Route) -> RouteResponse {
        switch outcome {
        case .results(let results, let misconfiguration):
            if let misconfiguration { logMisconfiguration(misconfiguration) }
            return route == .renewBatch ? .json(RenewBatchBody(results: results)) : .json(results[0])
        case .tryAgain(let delay, let code): return .unavailable(retryAfter: delay, reason: code)
        case .misconfigured(let code): return misconfigured(code)
        }
    }

    /// Nothing is told of single keys: clients would take them for renewed.
    private func misconfigured(_ code: String) -> RouteResponse {
        dependencies.metrics.refusedForConfiguration()
        logMisconfiguration(code)
        return .unavailable(retryAfter: .seconds(60), reason: code)
    }

    private func logMisconfiguration(_ code: String) {
        dependencies.log.error("renewals are misconfigured: run cloakroom doctor", ["code": .text(code)])
    }

    private func identified(
        _ request: Request, _ cost: RateLimitCost, acceptsBare: Bool = false, _ work: @escaping RequestPlan.Work
    ) -> RequestStep {
        identified(request, acceptsBare: acceptsBare) { RequestPlan(cost: cost, work: work) }
    }

    /// Identifies the caller. Without a token nothing is done and no request is sent.
    ///
    /// - Parameter plan: what the request costs and leads to; not worked out before the caller is known.
    func identified(
        _ request: Request, acceptsBare: Bool = false,
        plan: @escaping @LoopActor @Sendable () -> RequestPlan
    ) -> RequestStep {
        identified(dependencies.authenticator.identify(request, acceptsBare: acceptsBare), plan: plan)
    }

    private func identified(
        _ identification: Authenticator.Identification, plan: @escaping @LoopActor @Sendable () -> RequestPlan
    ) -> RequestStep {
        switch identification {
        case .subject(let subject): .work(subject, plan())
        case .refused(let refusal): .done(.refused(refusal))
        case .waiting(let identified):
            .waiting {
                switch await identified() {
                case .success(let subject): .work(subject, plan())
                case .failure(let refusal): .done(.refused(refusal))
                }
            }
        }
    }

    func refused(_ refusal: Entitlement.Refusal) -> RouteResponse {
        dependencies.metrics.refused(refusal)
        return RouteResponse(refusal)
    }
}

extension RouteResponse {
    /// 429, or 503 where nothing is served without Redis; the window that refuses is named in the log.
    ///
    /// The decision's own header fields, `Retry-After` among them, are still to be added.
    /// - Precondition: the decision lets nothing in.
    static func refused(_ cost: RateLimitCost, _ decision: RateLimitDecision) -> RouteResponse {
        switch decision.verdict {
        case .refused, .openRefused:
            let name = decision.refusing ?? cost.name
            if let maximum = decision.maximum {
                let counted = cost.name.quantity ?? name
                return error(
                    .invalidRequest, counted.refusal(above: maximum), reason: "above the window: \(counted.rawValue)")
            }
            return error(
                .tooManyRequests, name.refusal,
                reason: "\(decision.verdict.rawValue): \(decision.refusesUser ? name.ofUser : name.rawValue)")
        case .closed: return error(.unavailable, "Temporarily unavailable", reason: "redis")
        case .allowed, .open: preconditionFailure("the limit lets it in")
        }
    }
}

extension RateLimitName {
    /// - Parameter maximum: as many as a window has when nothing was counted.
    fileprivate func refusal(above maximum: Int) -> String {
        unit == "keys"
            ? "At most \(maximum) keys can be named at once"
            : "At most \(maximum) bytes can be uploaded at once"
    }

    fileprivate var refusal: String {
        switch self {
        // The same words for both: clients know them.
        case .renew, .renewKeys: "Too many renewal requests"
        case .release, .releaseKeys: "Too many release requests"
        case .vend, .vendAll: "Too many credential requests"
        case .upload: "Too many upload requests"
        case .uploadBytes: "Too many bytes to upload"
        case .session: "Too many sign-ins"
        case .notification: "Too many notifications"
        }
    }
}

extension RouteResponse {
    /// Whom no record knows has no subscription either, as far as they are told.
    fileprivate init(_ refusal: Entitlement.Refusal) {
        switch refusal {
        case .sessionRevoked:
            self = .error(.sessionRevoked, "Session revoked", reason: refusal.rawValue)
            self.response.fields.add("WWW-Authenticate", "Bearer")
        case .userDisabled: self = .error(.userDisabled, "User disabled", reason: refusal.rawValue)
        case .subscriptionRequired, .noRecord:
            self = .error(.subscriptionRequired, "Active subscription required", reason: refusal.rawValue)
        case .storageExceeded:
            self = .error(.storageQuotaExceeded, "Storage quota exceeded", reason: refusal.rawValue)
        case .unknownTier, .malformedRecord: self = .internalError(reason: refusal.rawValue)
        }
    }

    /// STS's part in a response: what is retryable is 503, a misconfiguration is 500.
    init(_ error: STSError) {
        switch error {
        case .unavailable(let retryAfter, let code):
            self = .unavailable(retryAfter: retryAfter ?? .seconds(1), reason: code)
        case .unusable(let code): self = .internalError(reason: code)
        case .refused(_, let code): self = .internalError(reason: code)
        case .cancelled: self = .unavailable(reason: "cancelled")
        }
    }
}

extension RouteResponse {
    /// - Parameter lifetime: the name of the parameter.
    fileprivate init(_ refusal: GrantRefusal, lifetime: String) {
        switch refusal {
        case .scope: self = .error(.forbidden, "Scope not allowed", reason: "scope")
        case .lifetime(let possible):
            self = .error(
                .invalidRequest, "\(lifetime) must be from \(possible.lowerBound) to \(possible.upperBound)")
        }
    }
}

extension Request {
    /// Whether the body is said to be JSON, whatever parameters follow (RFC 9110 §8.3).
    var isJSON: Bool { hasType("application/json") }

    /// - Parameter name: in lower case.
    func hasType(_ name: String) -> Bool {
        guard let type = fields["Content-Type"] else { return false }
        let rest = type.utf8.dropFirst(name.utf8.count)
        // As nearly all clients write it.
        if type.hasPrefix(name), rest.isEmpty || rest.first == UInt8(ascii: ";") { return true }
        let (text, expected) = (type.utf8.span, name.utf8.span)
        var matched = 0
        for index in text.indices where text[index] != UInt8(ascii: " ") && text[index] != UInt8(ascii: "\t") {
            if text[index] == UInt8(ascii: ";") { break }
            guard matched < expected.count, text[index] | 0x20 == expected[matched] else { return false }
            matched += 1
        }
        return matched == expected.count
    }
}

extension Route {
    /// Whether a request for credentials says in its query what it wants, not in a body.
    fileprivate var vendsByQuery: Bool { method == "GET" }
}

extension CredentialRequest {
    /// What a request says on one of the vending routes: in its JSON body, or in its query.
    init(_ request: Request, _ route: Route) throws(ParsingError) {
        if route.vendsByQuery {
            try self.init(query: request.query)
        } else {
            try self.init(parsing: request.body)
        }
    }

    /// The same names as in the body; others are refused, and so is a name that comes twice.
    private init(query: String) throws(ParsingError) {
        guard let parameters = QueryParameters(query), parameters.names.isSubset(of: ["scope", "lifetimeSeconds"])
        else { throw ParsingError() }
        self.init(scope: parameters["scope"])
        guard let text = parameters["lifetimeSeconds"] else { return }
        guard let seconds = QueryParameters.integer(text) else { throw ParsingError() }
        lifetimeSeconds = seconds
    }
}
