import AWS
import CloakroomWire
import HTTPValues
import JOSE
import Loop

extension CloakroomService {
    /// `POST /api/v1/auth/sts-token` and `GET /v1/credentials`.
    func vend(_ request: Request, _ route: Route) -> Step {
        identified(request, .vend, acceptsBare: route == .containerCredentials) { [self] subject, entitlement in
            let grant: Grant
            switch narrowed(entitlement.grant, by: request, route) {
            case .success(let granted): grant = granted
            case .failure(let refused): return refused.answer
            }
            if let refusal = entitlement.refusal(of: .vend(writes: grant.scope.writes)) { return refused(refusal) }
            let vended: VendedCredentials
            do throws(STSError) {
                vended = try await parts.vendor.credentials(
                    for: subject, grant, revokedBefore: entitlement.revokedBefore)
            } catch {
                return Answer(error)
            }
            return await issued(vended, to: subject, tier: entitlement.tierName, request, route)
        }
    }

    /// Apart from ``vend(_:_:)``, whose memory a thousand requests hold while they wait for STS.
    private func issued(
        _ vended: VendedCredentials, to subject: Subject, tier: String?, _ request: Request, _ route: Route
    ) async -> Answer {
        let issue = AuditLog.Issue(
            .credentials(
                accessKeyID: vended.role.credentials.accessKeyID, session: vended.sessionName, scope: vended.scope,
                scopeDigest: vended.scopeDigest),
            to: subject, tier: tier, until: vended.role.expiration, by: request)
        return await issued(issue, .json(vended.body(for: route, settings: parts.settings)))
    }

    /// The grant, or the part of it that the request asks for: in its body, or where that has no body in its query.
    private func narrowed(_ grant: Grant, by request: Request, _ route: Route) -> Result<Grant, Refused> {
        guard route == .containerCredentials ? !request.query.isEmpty : !request.body.isEmpty else {
            return .success(grant)
        }
        guard let asked = try? CredentialRequest(request, route) else {
            let place = route == .containerCredentials ? "query" : "body"
            return .failure(Refused(answer: .error(400, "Invalid request \(place)", .invalidRequest)))
        }
        do throws(GrantRefusal) {
            return .success(try grant.narrowed(by: asked, among: parts.settings.vending.scopes))
        } catch {
            return .failure(Refused(answer: Answer(error)))
        }
    }

    private struct Refused: Error {
        let answer: Answer
    }

    /// `GET /v2/attachments/presigned`.
    func presign(_ request: Request) -> Step {
        identified(request, .upload) { [self] subject, entitlement in
            if let refusal = entitlement.refusal(of: .upload) { return refused(refusal) }
            let upload: UploadRequest
            do throws(UploadRequest.Failure) {
                upload = try UploadRequest(query: request.query, allowedTypes: parts.settings.uploads.contentTypes)
            } catch {
                let code: ErrorCode = error == .contentType ? .contentTypeNotAllowed : .invalidRequest
                return .error(400, error.rawValue, code)
            }
            do throws(Fault) {
                let body = try await parts.uploader.upload(upload)
                let issue = AuditLog.Issue(
                    .upload(objectKey: body.objectKey), to: subject, tier: entitlement.tierName, until: body.expiresAt,
                    by: request)
                return await issued(issue, .json(body))
            } catch {
                return .unavailable(reason: error.code)
            }
        }
    }

    /// `POST /v2/assets/renew-batch` and `PUT /v2/assets/renew`.
    func renew(_ request: Request, _ route: Route) -> Step {
        guard request.isJSON else {
            return .done(.notJSON)
        }
        return identified(request, .renew) { [self] _, entitlement in
            if let refusal = entitlement.refusal(of: .renew) { return refused(refusal) }
            let keys: [String]
            do throws(RenewRequestError) {
                keys =
                    route == .renewBatch
                    ? try RenewBatchRequest(parsing: request.body).assetKeys
                    : [try RenewOneRequest(parsing: request.body).assetKey]
            } catch {
                return .error(400, error.rawValue, .invalidRequest)
            }
            switch await parts.renewer.renew(keys) {
            case .results(let results):
                return route == .renewBatch ? .json(RenewBatchBody(results: results)) : .json(results[0])
            case .tryAgain(let delay, let code): return .unavailable(retryAfter: delay, reason: code)
            case .misconfigured(let code): return .internalError(reason: code)
            }
        }
    }

    /// Who asks? Nothing is done, and nobody is asked, for a request that does not say.
    private func identified(
        _ request: Request, _ name: LimitName, acceptsBare: Bool = false,
        _ work: @escaping Work
    ) -> Step {
        switch parts.authenticator.identify(request, acceptsBare: acceptsBare) {
        case .subject(let subject): .work(subject, name, work)
        case .refused(let refusal): .done(.refused(refusal))
        case .waiting(let identified):
            .waiting {
                switch await identified() {
                case .success(let subject): .work(subject, name, work)
                case .failure(let refusal): .done(.refused(refusal))
                }
            }
        }
    }

    /// May the subject do it, and once more? Then the work; the answer tells what is left.
    func counted(_ name: LimitName, for subject: Subject, _ work: Work) async -> Answer {
        let admission = await admissions.admit(name, subject)
        let decision = admission.decision
        parts.metrics.limited(name, decision.verdict)
        var answer: Answer =
            switch (decision.verdict, admission.entitlement) {
            case (.closed, _): .error(503, "Temporarily unavailable", .unavailable, reason: "redis")
            case (_, .failure(let refusal)): refused(refusal)
            case (.refused, _), (.openRefused, _):
                .error(429, name.refusal, .tooManyRequests, reason: decision.verdict.rawValue)
            case (.allowed, .success(let entitlement)), (.open, .success(let entitlement)):
                await work(subject, entitlement)
            }
        answer.response.fields.add(name, policy: admission.terms.policy, decision)
        answer.user = subject.userID.text
        return answer
    }

    private func refused(_ refusal: Entitlement.Refusal) -> Answer {
        parts.metrics.refused(refusal)
        return Answer(refusal)
    }

    /// The answer, once the line that says so is written; without it nothing is issued.
    func issued(_ issue: AuditLog.Issue, _ answer: Answer) async -> Answer {
        guard await parts.audit.record(issue) else {
            parts.metrics.auditFailed()
            parts.log.error("audit line could not be written; nothing was issued")
            return .unavailable(retryAfter: .seconds(5), reason: "audit")
        }
        parts.metrics.issued(issue.kind)
        return answer
    }
}

extension LimitName {
    var refusal: String {
        switch self {
        case .renew: "Too many renewal requests"
        case .vend: "Too many credential requests"
        case .upload: "Too many upload requests"
        case .session: "Too many sign-ins"
        case .notification: "Too many notifications"
        }
    }
}

extension Answer {
    /// Whom no record knows has no subscription either, as far as they are told.
    fileprivate init(_ refusal: Entitlement.Refusal) {
        switch refusal {
        case .userDisabled: self = .error(403, "User disabled", .userDisabled, reason: refusal.rawValue)
        case .subscriptionRequired, .noRecord:
            self = .error(403, "Active subscription required", .subscriptionRequired, reason: refusal.rawValue)
        case .storageExceeded:
            self = .error(403, "Storage quota exceeded", .storageQuotaExceeded, reason: refusal.rawValue)
        case .malformedRecord: self = .internalError(reason: refusal.rawValue)
        }
    }

    /// STS's part in an answer: what may pass is 503, what somebody must mend is 500.
    fileprivate init(_ error: STSError) {
        switch error {
        case .unavailable(let retryAfter, let code):
            self = .unavailable(retryAfter: retryAfter ?? .seconds(1), reason: code)
        case .unusable(let code): self = .internalError(reason: code)
        case .refused(_, let code): self = .internalError(reason: code)
        case .cancelled: self = .unavailable(reason: "cancelled")
        }
    }
}

extension Answer {
    fileprivate init(_ refusal: GrantRefusal) {
        switch refusal {
        case .scope: self = .error(403, "Scope not allowed", .forbidden, reason: "scope")
        case .lifetime(let possible):
            self = .error(
                400, "lifetimeSeconds must be from \(possible.lowerBound) to \(possible.upperBound)", .invalidRequest)
        }
    }
}

extension Request {
    /// Whether the body is said to be JSON, whatever parameters follow (RFC 9110 §8.3).
    var isJSON: Bool {
        guard let type = fields["Content-Type"]?.prefix(while: { $0 != ";" }) else { return false }
        return type.utf8.filter { $0 != 0x20 && $0 != 0x09 }.map { $0 | 0x20 } == Array("application/json".utf8)
    }
}
