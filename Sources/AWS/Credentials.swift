package import CloakroomCrypto

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What AWS knows us, or one of our users, by.
package struct Credentials: Sendable, Equatable {
    package let accessKeyID: String
    package let secretAccessKey: Secret
    /// `nil` for long-lived credentials.
    package let sessionToken: Secret?
    /// `nil` for credentials that do not end.
    package let expiration: Date?

    package init(
        accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil, expiration: Date? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

/// Where a client gets what it signs with.
package struct CredentialSource: Sendable {
    /// Called before every try; expected to answer at once from what it holds.
    package let current: @Sendable () async throws -> Credentials
    /// Those that never change: nobody has to be asked for them.
    let constant: Credentials?
    /// Told of credentials that AWS called expired or unknown, before ``current`` is asked once more.
    package let whenRefused: @Sendable (Credentials) async -> Void

    package init(
        current: @escaping @Sendable () async throws -> Credentials,
        whenRefused: @escaping @Sendable (Credentials) async -> Void = { _ in }
    ) {
        self.current = current
        self.whenRefused = whenRefused
        constant = nil
    }

    /// Always the same ones.
    package init(_ credentials: Credentials) {
        current = { credentials }
        whenRefused = { _ in }
        constant = credentials
    }
}
