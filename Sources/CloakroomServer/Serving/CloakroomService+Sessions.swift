import CloakroomWire
import CloakroomHTTP
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloakroomService {
    /// `POST /api/v1/auth/session`: an identity token for a session, or a session for a later one.
    func session(_ request: Request) -> RequestStep {
        guard let sessions = dependencies.sessions else { return .done(.noSuchRoute) }
        guard request.body.isEmpty || request.isJSON else { return .done(.notJSON) }
        guard let asked = SessionRequest(parsing: request.body) else {
            return .done(.error(.invalidRequest, "Invalid request body"))
        }
        guard let token = asked.identityToken else { return continuation(of: request, asked, sessions) }
        return .waiting { [self] in
            do throws(IdentityRefusal) {
                let subject = try await dependencies.authenticator.signIn(
                    identityToken: Array(token.utf8), nonce: asked.nonce)
                let user = Subject(
                    userID: subject.userID, deviceID: nil, tier: subject.tier, issuer: subject.issuer,
                    signIn: subject.signIn)
                return .work(
                    user,
                    RequestPlan(cost: .session, isSignIn: true) { [self] _, entitlement in
                        session(
                            sessions, of: subject, asked.deviceId ?? subject.deviceID, entitlement, request,
                            isSignIn: true)
                    })
            } catch {
                return .done(.refused(error))
            }
        }
    }

    private func continuation(of request: Request, _ asked: SessionRequest, _ sessions: SessionTokens) -> RequestStep {
        do throws(IdentityRefusal) {
            let subject = try dependencies.authenticator.session(of: request)
            return .work(
                subject,
                RequestPlan(cost: .session) { [self] _, entitlement in
                    session(sessions, of: subject, asked.deviceId ?? subject.deviceID, entitlement, request)
                })
        } catch {
            return .done(.refused(error))
        }
    }

    private func session(
        _ sessions: SessionTokens, of subject: Subject, _ device: String?, _ entitlement: Entitlement,
        _ request: Request, isSignIn: Bool = false
    ) -> RequestOutcome {
        guard let session = sessions.issue(subject, deviceID: device) else {
            return .answered(.refused(.signInTooOld))
        }
        let named = Subject(userID: subject.userID, deviceID: device, tier: subject.tier, issuer: subject.issuer)
        let issue = AuditLog.Issuance(
            .session(id: session.id, until: session.expiration), to: named, tier: entitlement.tierName, by: request)
        var answer = RouteResponse.json(
            SessionBody(token: session.token, expiresAt: session.expiration, userId: subject.userID.text))
        if isSignIn { answer.event = .userSignedIn(deviceID: device) }
        return .issued(issue, answer)
    }

    /// `GET /.well-known/jwks.json`.
    var sessionKeys: RouteResponse {
        guard let sessions = dependencies.sessions else { return .noSuchRoute }
        return RouteResponse(
            response: Response(
                status: 200,
                fields: ["Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=900"],
                body: sessions.keySet))
    }

    /// `POST /api/v1/auth/apple/notifications`: a user who withdrew consent, or deleted the account, gets nothing more.
    ///
    /// Apple sends again what got no 200, so nothing is lost while Redis is unreachable, nor with a master that fails.
    func appleNotification(_ request: Request) -> RequestStep {
        guard dependencies.settings.tokens.issuers.contains(where: \.notifies) else { return .done(.noSuchRoute) }
        guard let asked = AppleNotificationRequest(parsing: request.body) else {
            return .done(.error(.invalidRequest, "Invalid request body"))
        }
        return .waiting { [self] in
            do throws(IdentityRefusal) {
                let (notification, subject) = try await dependencies.authenticator.notification(
                    Array(asked.payload.utf8))
                return .done(await handle(notification, of: subject))
            } catch {
                return .done(.refused(error))
            }
        }
    }

    /// Counted, but no entitlement is read: this is Apple, and its user may be disabled already.
    private func handle(_ notification: AppleNotification, of subject: Subject) async -> RouteResponse {
        guard notification.event.endsAccess else { return .handled(subject) }
        let decision = await dependencies.limiter.count(.notification, for: subject, by: notificationTerms)
        dependencies.metrics.limited(.notification, decision, by: notificationTerms)
        var answer =
            decision.isAllowed
            ? await disabled(subject, because: notification.event) : .refused(.notification, decision)
        answer.response.fields.add(notificationTerms, decision)
        answer.user = subject.userID.text
        return answer
    }

    private func disabled(_ subject: Subject, because event: AppleNotification.Event) async -> RouteResponse {
        do throws(AccessRemoval.Failure) {
            try await dependencies.accessRemoval.run(for: subject.userID, reason: event.rawValue)
        } catch {
            return .unavailable(reason: error.rawValue)
        }
        // Credentials that are kept need not be forgotten: they are looked for by all that they open.
        dependencies.log.info(
            "user disabled", ["user": .text(subject.userID.text), "reason": .text(event.rawValue)])
        var answer = RouteResponse.handled(subject)
        answer.event = .userDisabled(reason: event.rawValue)
        return answer
    }
}

extension RouteResponse {
    fileprivate static func handled(_ subject: Subject) -> RouteResponse {
        var answer = json(Array("{}".utf8))
        answer.user = subject.userID.text
        return answer
    }
}
