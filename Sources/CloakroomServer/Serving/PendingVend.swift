import CloakroomAWS
import CloakroomHTTP
import CloakroomLoop

/// A request for credentials that has to call STS.
///
/// An object, as ``Vend``.
@LoopActor
final class PendingVend {
    private var vend: Vend
    private let permit: LimitPermit
    private let shares: UserRecord.Shares
    private let tier: String
    private let request: Request
    private let wire: CloakroomService.VendingWire
    private let service: CloakroomService

    /// - Parameter request: without its content.
    init(
        _ grant: Grant, to subject: Subject, _ entitlement: Entitlement, _ request: Request,
        _ wire: CloakroomService.VendingWire, of service: CloakroomService
    ) {
        let permit = service.permit(.vend, subject, entitlement)
        vend = Vend(
            for: subject, grant, revokedBefore: entitlement.revokedBefore,
            deadline: ContinuousClock.now + service.dependencies.settings.server.requestDeadline,
            permit: { await permit.isGranted() }, settle: { $0 ? permit.keep() : permit.giveBack() })
        self.permit = permit
        shares = entitlement.shares
        tier = entitlement.tierName
        self.request = request
        self.wire = wire
        self.service = service
    }

    func result() async -> CredentialCache.Result {
        let result = await vended()
        guard case .failure(.refused(_, let code)) = result else { return result }
        return await vendedWithoutShares(refusedAs: code) ?? result
    }

    func outcome(of result: CredentialCache.Result) -> RequestOutcome {
        switch result {
        case .success(let vended):
            return service.issued(
                vended, vend.grant, to: vend.subject, tier: tier, request, wire, permit.granted)
        case .failure(let error):
            var answer = permit.refusal ?? RouteResponse(error)
            answer.limited = permit.limited
            return .answered(answer)
        }
    }

    // Not inlined, as in `Retrier`.

    /// The user's own does not fail for what others share.
    ///
    /// - Returns: `nil` where nothing is shared, or the user's own fails as well.
    @inline(never) private func vendedWithoutShares(refusedAs code: String) async -> CredentialCache.Result? {
        let shared = vend
        guard let sharing = service.sharing, !shared.grant.shared.isEmpty else { return nil }
        vend = shared.withoutShares
        let own = await vended()
        guard case .success = own else { return nil }
        sharing.refused(shares, for: shared.subject.userID, shared.grant, code: code)
        return own
    }

    /// Of requests that wait for one call of STS only the first needs the permit. When it does not get it, the next one
    /// tries with its own.
    @inline(never) private func vended() async -> CredentialCache.Result {
        for _ in 0..<3 {
            let result = await service.dependencies.vendor.credentials(vend)
            guard case .failure(Vendor.notPermitted) = result, permit.limited == nil else { return result }
        }
        return .failure(.unavailable(retryAfter: .seconds(1), code: "TooManyVends"))
    }
}

extension Vend {
    fileprivate var withoutShares: Vend {
        var grant = grant
        grant.shared = .none
        return Vend(
            for: subject, grant, revokedBefore: revokedBefore, deadline: deadline, permit: permit, settle: settle)
    }
}
