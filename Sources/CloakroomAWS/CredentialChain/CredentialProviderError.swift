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
