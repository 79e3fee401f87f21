import CloakroomWire
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What an audit line says of credentials, written once for all who are given the same ones.
package struct AuditedCredentials: Sendable, Equatable {
    /// The members, with their commas between them.
    let members: [UInt8]

    /// - Parameter scopeDigest: of the scope's policy with its user open: ``Scope/digest``.
    package init(accessKeyID: String, session: String, scope: String, scopeDigest: String, until expiration: Date) {
        var writer = JSONWriter()
        writer.member("scope", scope)
        writer.member("scopeDigest", scopeDigest)
        writer.member("session", session)
        writer.member("accessKeyId", accessKeyID)
        writer.member("expiration", expiration)
        members = writer.bytes
    }
}
