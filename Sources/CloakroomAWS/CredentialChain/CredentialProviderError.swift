/// Why a provider has no credentials; a sentence's middle, without a secret in it.
package enum CredentialProviderError: Error, Sendable, Equatable {
    /// Nothing here says that it should have any: the next one is asked.
    case notConfigured(String)
    /// It is set up and fails. Nobody else is asked: another identity would not be the one that was meant.
    case failed(String)

    package var reason: String {
        switch self {
        case .notConfigured(let reason), .failed(let reason): reason
        }
    }
}
