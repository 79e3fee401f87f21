package import CloakroomCrypto

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What AWS knows us, or one of our users, by.
///
/// An object: thousands of calls that wait for a response have it in one place, whatever they pass it to.
package final class Credentials: Sendable, Equatable {
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

    package static func == (left: Credentials, right: Credentials) -> Bool {
        left === right
            || left.accessKeyID == right.accessKeyID && left.secretAccessKey == right.secretAccessKey
                && left.sessionToken == right.sessionToken && left.expiration == right.expiration
    }
}

/// Where a client gets what it signs with.
package struct CredentialSource: Sendable {
    /// Called before every attempt; expected to return at once from its cache.
    package let current: @Sendable () async throws -> Credentials
    /// Those that never change and need no provider.
    let constant: Credentials?
    /// Those that are held and not due, without suspension; `nil`: call ``current``.
    let cached: @Sendable () -> Credentials?
    /// Told of credentials that AWS called expired or unknown, before ``current`` is called once more.
    package let onRejected: @Sendable (Credentials) async -> Void

    package init(
        current: @escaping @Sendable () async throws -> Credentials,
        onRejected: @escaping @Sendable (Credentials) async -> Void = { _ in },
        cached: @escaping @Sendable () -> Credentials? = { nil }
    ) {
        self.current = current
        self.onRejected = onRejected
        self.cached = cached
        constant = nil
    }

    /// Always the same ones.
    package init(_ credentials: Credentials) {
        current = { credentials }
        onRejected = { _ in }
        cached = { credentials }
        constant = credentials
    }

    /// The longest session that a role assumed with these may last: an hour when they are a role's themselves, else what
    /// the role allows (`nil`). Also `nil` while there are none.
    ///
    /// Source: IAM User Guide, "Methods to assume a role", role chaining. A session token is the mark: every role's
    /// credentials have one.
    package var maximumSessionDuration: Duration? {
        (constant ?? cached())?.sessionToken == nil ? nil : .seconds(3600)
    }
}
