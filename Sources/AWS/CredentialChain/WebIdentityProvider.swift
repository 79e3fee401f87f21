/// The role of a pod on EKS (IRSA), or of whatever else has a token of an OpenID issuer: `AWS_WEB_IDENTITY_TOKEN_FILE`
/// and `AWS_ROLE_ARN`, and perhaps `AWS_ROLE_SESSION_NAME`.
struct WebIdentityProvider: CredentialProvider {
    let world: CredentialWorld
    var name: ProviderName { .webIdentity }

    func outlook() throws(ProviderFault) -> String { "web identity, role \(try setUp().role.arn)" }

    func credentials() async throws(ProviderFault) -> ProvidedCredentials {
        let (file, role) = try setUp()
        let credentials = try await RoleProvider(world: world).assume(role) { () throws(ProviderFault) in
            try world.token(file: file, of: "AWS_WEB_IDENTITY_TOKEN_FILE")
        }
        return ProvidedCredentials(credentials, origin: "web identity, role \(role.arn)")
    }

    private func setUp() throws(ProviderFault) -> (file: String, role: RoleProvider.Role) {
        let environment = world.environment
        guard let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"] else {
            throw .absent("AWS_WEB_IDENTITY_TOKEN_FILE is not set")
        }
        guard let arn = environment["AWS_ROLE_ARN"] else {
            throw .failed("AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not")
        }
        return (file, RoleProvider.Role(arn: arn, sessionName: environment["AWS_ROLE_SESSION_NAME"]))
    }
}
