import CloakroomCrypto

/// Where the worker's own credentials come from: the first provider that is set up here.
package struct CredentialChain: Sendable {
    let providers: [any AWSCredentialProvider]

    package init(providers: [any AWSCredentialProvider]) { self.providers = providers }

    /// - Parameter only: one provider alone; `nil` for all, in the SDKs' order.
    package init(dependencies: CredentialChainDependencies, only name: ProviderName? = nil) {
        // A profile that the settings name is meant; keys, or a pod's token, that happen to be in the environment are not
        // (botocore, `create_credential_resolver`: `disable_env_vars`). `AWS_PROFILE` does not have that weight.
        func unlessNamed(_ provider: any AWSCredentialProvider) -> [any AWSCredentialProvider] {
            dependencies.profile == nil || name == provider.name ? [provider] : []
        }
        let all: [any AWSCredentialProvider] =
            unlessNamed(EnvironmentProvider(dependencies: dependencies)) + [
                ProfileProvider(part: .roles, dependencies: dependencies)
            ]
            + unlessNamed(WebIdentityProvider(dependencies: dependencies))
            + [
                ProfileProvider(part: .others, dependencies: dependencies),
                ContainerProvider(dependencies: dependencies),
                InstanceProvider(dependencies: dependencies),
            ]
        providers = all.filter { provider in
            name == nil || provider.name == name || (name == .profile && provider.name == .roleProfile)
        }
    }

    /// Whose credentials would be used, as far as can be told without a request.
    package func expectedOrigin() throws(CredentialChainError) -> String {
        var reasons: [CredentialChainError.Reason] = []
        for provider in providers {
            do throws(CredentialProviderError) {
                return try provider.expectedOrigin()
            } catch {
                reasons.append(.init(provider: provider.name, text: error.reason))
                if case .failed = error { break }
            }
        }
        throw CredentialChainError(reasons: reasons)
    }

    /// Tries one after the other until one has credentials, or one that is configured fails.
    func first() async throws(CredentialChainError) -> (
        provider: any AWSCredentialProvider, credentials: ProvidedCredentials
    ) {
        var reasons: [CredentialChainError.Reason] = []
        for provider in providers {
            do throws(CredentialProviderError) {
                return (provider, try await provider.credentials())
            } catch {
                reasons.append(.init(provider: provider.name, text: error.reason))
                if case .failed = error { break }
            }
        }
        throw CredentialChainError(reasons: reasons)
    }
}

/// Why no provider had credentials: each one that was tried, in order.
package struct CredentialChainError: Error, Sendable, Equatable, CustomStringConvertible {
    package struct Reason: Sendable, Equatable {
        package let provider: ProviderName
        package let text: String
    }

    package let reasons: [Reason]

    package var description: String {
        "no AWS credentials\n" + reasons.map { "  \($0.provider.rawValue): \($0.text)" }.joined(separator: "\n")
    }

    /// In one line, for a log.
    package var summary: String { reasons.map { "\($0.provider.rawValue): \($0.text)" }.joined(separator: "; ") }
}

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
}

/// Why a provider has no credentials; a sentence's middle, without a secret in it.
package enum CredentialProviderError: Error, Sendable, Equatable {
    /// Nothing here says that it should have any: the next provider is used.
    case notConfigured(String)
    /// It is configured and fails. No other provider is used: it could give another identity than was meant.
    case failed(String)

    package var reason: String {
        switch self {
        case .notConfigured(let reason), .failed(let reason): reason
        }
    }
}

/// Keys in the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, and with temporary ones `AWS_SESSION_TOKEN`
/// and perhaps `AWS_CREDENTIAL_EXPIRATION`.
struct EnvironmentProvider: AWSCredentialProvider {
    let dependencies: CredentialChainDependencies
    var name: ProviderName { .environment }

    func expectedOrigin() throws(CredentialProviderError) -> String { try credentials().origin }

    func credentials() throws(CredentialProviderError) -> ProvidedCredentials {
        let environment = dependencies.environment
        guard let id = environment["AWS_ACCESS_KEY_ID"] else { throw .notConfigured("AWS_ACCESS_KEY_ID is not set") }
        guard let secret = environment["AWS_SECRET_ACCESS_KEY"] else {
            throw .failed("AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not")
        }
        // The second name is what the first was called once.
        let token = environment["AWS_SESSION_TOKEN"] ?? environment["AWS_SECURITY_TOKEN"]
        let expiration = try environment["AWS_CREDENTIAL_EXPIRATION"].map { text throws(CredentialProviderError) in
            guard let time = Timestamp(iso8601: text) else {
                throw CredentialProviderError.failed(
                    "AWS_CREDENTIAL_EXPIRATION is no time such as 2026-11-20T14:00:00Z")
            }
            return time.date
        }
        let credentials = Credentials(
            accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: token.map { Secret($0) },
            expiration: expiration)
        return ProvidedCredentials(credentials, origin: "environment")
    }
}

/// The keys that the settings name; they never change while the process runs.
package struct SettingsProvider: AWSCredentialProvider {
    private let keys: Credentials
    package var name: ProviderName { .settings }

    package init(_ keys: Credentials) { self.keys = keys }

    package func expectedOrigin() -> String { "settings" }

    package func credentials() -> ProvidedCredentials { ProvidedCredentials(keys, origin: "settings") }
}
