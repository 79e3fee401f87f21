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
