package import AWS
import CloakroomWire
package import Loop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Credentials of one user, and the session they belong to.
@LoopActor
package final class VendedCredentials {
    package nonisolated let role: AssumedRole
    package nonisolated let sessionName: String
    package nonisolated let issued: Date
    /// From when on new ones are asked for.
    package nonisolated let refresh: Date
    package nonisolated let scope: String
    /// SHA-256 of the session policy, in hexadecimal; empty without one.
    package nonisolated let scopeDigest: String

    // What was answered once is answered again, byte for byte.
    private var bodies: [Route: [UInt8]] = [:]

    /// - Parameter jitter: 0…1; 0 refreshes at half of the lifetime, 1 a tenth of it later, so that what was issued
    ///   together is not asked for together.
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

    /// A copy may be handed out until about half of the lifetime is over, so that nobody gets credentials about to end.
    nonisolated func isFresh(at time: Date) -> Bool { time < refresh }

    /// Whether a copy is better than none: it is good for another minute.
    nonisolated func mayStandIn(at time: Date) -> Bool { role.expiration > time.addingTimeInterval(60) }

    nonisolated func isRevoked(before time: Date?) -> Bool { time.map { issued < $0 } ?? false }

    /// The answer of a vending route, in JSON.
    func body(for route: Route, settings: Settings) -> [UInt8] {
        if let known = bodies[route] { return known }
        let body = encoded(for: route, settings: settings)
        bodies[route] = body
        return body
    }

    private func encoded(for route: Route, settings: Settings) -> [UInt8] {
        let credentials = role.credentials
        // AssumedRole refuses an answer of STS's without one.
        let token = credentials.sessionToken?.reveal() ?? ""
        if route == .containerCredentials {
            return ContainerCredentialsBody(
                accessKeyID: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey.reveal(),
                token: token, expiration: role.expiration
            ).encoded
        }
        return STSTokenBody(
            credentials: .init(
                accessKeyId: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey.reveal(),
                sessionToken: token, expiration: role.expiration),
            region: settings.region, bucket: settings.bucket
        ).encoded
    }
}
