import CloakroomCrypto

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
