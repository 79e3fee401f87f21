/// The role of a pod on EKS (IRSA), or of whatever else has a token of an OpenID issuer: `AWS_WEB_IDENTITY_TOKEN_FILE`
/// and `AWS_ROLE_ARN`, and perhaps `AWS_ROLE_SESSION_NAME`.
struct WebIdentityProvider: AWSCredentialProvider {
    let dependencies: CredentialChainDependencies
    var name: ProviderName { .webIdentity }

    func expectedOrigin() throws(CredentialProviderError) -> String { "web identity, role \(try setUp().role.arn)" }

    func credentials() async throws(CredentialProviderError) -> ProvidedCredentials {
        let (file, role) = try setUp()
        let credentials = try await RoleProvider(dependencies: dependencies).assume(role) {
            () throws(CredentialProviderError) in
            try dependencies.token(file: file, of: "AWS_WEB_IDENTITY_TOKEN_FILE")
        }
        return ProvidedCredentials(credentials, origin: "web identity, role \(role.arn)")
    }

    private func setUp() throws(CredentialProviderError) -> (file: String, role: RoleProvider.Role) {
        let environment = dependencies.environment
        guard let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"] else {
            throw .notConfigured("AWS_WEB_IDENTITY_TOKEN_FILE is not set")
        }
        guard let arn = environment["AWS_ROLE_ARN"] else {
            throw .failed("AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not")
        }
        return (file, RoleProvider.Role(arn: arn, sessionName: environment["AWS_ROLE_SESSION_NAME"]))
    }
}
