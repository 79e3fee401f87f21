package import CloakroomAWS
import CloakroomWire
package import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Credentials of one user, and the session they belong to.
@LoopActor
package final class VendedSession {
    package nonisolated let role: AssumedRole
    package nonisolated let sessionName: String
    package nonisolated let issued: Date
    /// From when on new ones are requested.
    package nonisolated let refresh: Date
    package nonisolated let scope: String
    /// SHA-256 of the session policy, in hexadecimal; empty without one.
    package nonisolated let scopeDigest: String

    // The same response is sent again, byte for byte.
    private var stsTokenBody: [UInt8]?
    private var containerBody: [UInt8]?
    private var stsResponse: MadeSTSResponse?
    private var auditedCredentials: AuditedCredentials?

    /// - Parameter jitter: 0…1; 0 refreshes at half of the lifetime, 1 a tenth of it later, so that what was issued
    ///   together is not requested together.
    package nonisolated init(
        role: AssumedRole, sessionName: String, issued: Date, scope: String, scopeDigest: String, jitter: Double
    ) {
        refresh = issued.addingTimeInterval(role.expiration.timeIntervalSince(issued) * (0.5 + 0.1 * jitter))
        self.scope = scope
        self.scopeDigest = scopeDigest
        self.role = role
        self.sessionName = sessionName
        self.issued = issued
    }

    /// A copy may be handed out until about half of the lifetime is over, so that none is handed out about to end.
    nonisolated func isReusable(at time: Date) -> Bool { time < refresh }

    /// Whether a copy is better than none: it is good for another minute.
    nonisolated func mayStandIn(at time: Date) -> Bool { role.expiration > time.addingTimeInterval(60) }

    nonisolated func isRevoked(before time: Date?) -> Bool { time.map { issued < $0 } ?? false }

    /// What the audit says of them.
    ///
    /// - Parameter grant: what they were vended for; read the first time only.
    func audited(_ grant: Grant) -> AuditedCredentials {
        if let auditedCredentials { return auditedCredentials }
        let audited = AuditedCredentials(
            accessKeyID: role.credentials.accessKeyID, session: sessionName, scope: scope, scopeDigest: scopeDigest,
            until: role.expiration, shared: grant.shared.folders)
        auditedCredentials = audited
        return audited
    }

    /// The response of a vending route, in JSON.
    ///
    /// - Parameters:
    ///   - grant: what they were vended for to this user; like `settings`, read for the first response only.
    ///   - settings: where the bucket is.
    func body(for route: Route, to user: UserID, _ grant: Grant, _ settings: @autoclosure () -> Settings) -> [UInt8] {
        if route == .companionCredentials {
            return CompanionCredentialsBody(stsToken(user, grant, settings())).encoded
        }
        let isContainer = route == .containerCredentials
        if let body = isContainer ? containerBody : stsTokenBody { return body }
        if isContainer {
            let body = containerCredentials.encoded
            containerBody = body
            return body
        }
        let body = stsToken(user, grant, settings()).encoded
        stsTokenBody = body
        return body
    }

    /// The response of STS' wire up to its request's id, in XML.
    ///
    /// - Parameter roles: of which this session's is that of the user.
    func stsResponse(
        of action: WebIdentityRequest.Action, to subject: Subject, _ grant: Grant, _ roles: SessionRoles
    ) -> [UInt8] {
        if let made = stsResponse, made.action == action, made.issuer == subject.issuer,
            made.audience == subject.audience
        {
            return made.beginning
        }
        let beginning = STSResponse.beginning(
            of: action, self, to: subject, role: roles.active[roles.index(for: subject.userID)],
            packedPercent: role.packedPolicySize
                ?? (grant.shared.isEmpty
                    ? grant.scope.policy.packedPercent : grant.packedSize(for: subject.userID).percent))
        stsResponse = MadeSTSResponse(
            action: action, issuer: subject.issuer, audience: subject.audience, beginning: beginning)
        return beginning
    }

    /// What was made last, and of what: the user is always the same, whose devices have a token each.
    private struct MadeSTSResponse {
        let action: WebIdentityRequest.Action
        let issuer: String
        let audience: String?
        let beginning: [UInt8]
    }

    private var containerCredentials: ContainerCredentialsBody {
        ContainerCredentialsBody(
            accessKeyID: role.credentials.accessKeyID, secretAccessKey: role.credentials.secretAccessKey.reveal(),
            token: sessionToken, expiration: role.expiration)
    }

    private func stsToken(_ user: UserID, _ grant: Grant, _ settings: Settings) -> STSTokenBody {
        STSTokenBody(
            credentials: .init(
                accessKeyId: role.credentials.accessKeyID, secretAccessKey: role.credentials.secretAccessKey.reveal(),
                sessionToken: sessionToken, expiration: role.expiration),
            region: settings.region, bucket: settings.bucket, userId: user.text,
            prefixes: grant.scope.policy.prefixes(for: user),
            shared: grant.shared.folders.map { .init(prefix: $0.prefix, owner: $0.owner.text, until: $0.end) })
    }

    // AssumedRole refuses a response of STS without one.
    private var sessionToken: String { role.credentials.sessionToken?.reveal() ?? "" }
}
