/// One place where the worker's own credentials may come from.
package protocol AWSCredentialProvider: Sendable {
    var name: ProviderName { get }

    /// Whose credentials these would be, as far as can be told without a request; a refusal as by ``credentials()``.
    func expectedOrigin() throws(CredentialProviderError) -> String

    /// Called at every refresh; bounded in time by itself.
    func credentials() async throws(CredentialProviderError) -> ProvidedCredentials
}

/// The links of the chain, in its order.
///
/// The order is botocore's (1.44.5, `create_credential_resolver`). The AWS SDKs and Tools Reference Guide, "Standardized
/// credential providers", leaves the order to each SDK; some try ``webIdentity`` before any profile.
package enum ProviderName: String, Sendable, CaseIterable {
    case settings
    case environment
    /// A profile with `role_arn`.
    case roleProfile = "role profile"
    case webIdentity = "web identity"
    case profile
    case container
    case instance
}

/// What a provider gave.
package struct ProvidedCredentials: Sendable, Equatable {
    package let credentials: Credentials
    /// Whose they are, for the log: such as `profile broker, role arn:aws:iam::123456789012:role/broker`.
    package let origin: String
    /// Used beyond their end while nothing newer is to be had: those of the instance, which AWS itself prolongs then.
    package let isUsableAfterExpiration: Bool

    init(_ credentials: Credentials, origin: String, isUsableAfterExpiration: Bool = false) {
        self.credentials = credentials
        self.origin = origin
        self.isUsableAfterExpiration = isUsableAfterExpiration
    }

    func from(_ origin: String) -> Self {
        ProvidedCredentials(credentials, origin: origin, isUsableAfterExpiration: isUsableAfterExpiration)
    }
}
