import CloakroomHTTP
import CloakroomLoop
import CloakroomWire

extension CloakroomService {
    /// `POST /v2/assets/release-batch`. Also for those who may store nothing more: it gives room.
    func release(_ request: Request) -> RequestStep {
        guard let releaser = dependencies.releaser else { return .done(.chatNotEnabled) }
        guard request.isJSON else { return .done(.notJSON) }
        return identified(request) { [self] in
            let asked = Result { () throws(ReleaseRequestError) in
                try ReleaseBatchRequest(parsing: request.body).images
            }
            // What cannot be read counts as a request, of no keys.
            let count = (try? asked.get().count) ?? 0
            return RequestPlan(cost: .release(keys: count)) { [self] subject, entitlement in
                switch asked {
                case .failure(let error): return .answered(.error(.invalidRequest, error.rawValue))
                case .success(let items):
                    let checked = releaser.check(items, of: subject.userID)
                    let line = AuditLog.Issuance(
                        .release(objectKeys: checked.keys), to: subject, tier: entitlement.tierName, by: request)
                    return .waiting { [self] in .answered(await released(checked, line, releaser)) }
                }
            }
        }
    }

    /// Nothing is sent before the line of it is written.
    private func released(
        _ checked: Releaser.Checked, _ line: AuditLog.Issuance, _ releaser: Releaser
    ) async -> RouteResponse {
        if !checked.keys.isEmpty {
            let isKept = await withCheckedContinuation { continuation in
                dependencies.audit.record(line) { continuation.resume(returning: $0) }
            }
            guard isKept else {
                dependencies.metrics.auditFailed()
                dependencies.log.error("audit line could not be written; nothing was released")
                return .unavailable(retryAfter: .seconds(5), reason: "audit")
            }
        }
        let outcome = await releaser.run(checked)
        if let code = outcome.misconfiguration {
            dependencies.log.error("releases are misconfigured: run cloakroom doctor", ["code": .text(code)])
        }
        var answer = RouteResponse.json(ReleaseBatchBody(results: outcome.results))
        if let delay = outcome.retryAfter {
            answer.response.fields.add("Retry-After", String(max(1, (delay.milliseconds + 999) / 1000)))
        }
        return answer
    }
}
