import CloakroomHTTP

/// Assumes roles for the worker itself: with credentials it has, or with a token of an identity provider.
struct RoleProvider {
    let dependencies: CredentialChainDependencies

    /// For all attempts together.
    private static let totalTimeout: Duration = .seconds(10)
    private static let retry = RetrySettings(maximumAttempts: 3, timeout: .seconds(5))

    struct Role: Sendable {
        var arn: String
        var sessionName: String?
        var externalID: String?
        var duration: Duration = .seconds(3600)
    }

    func assume(_ role: Role, with source: Credentials) async throws(CredentialProviderError) -> Credentials {
        let client = STSClient(
            endpoint: dependencies.sts, transport: dependencies.transport, credentials: CredentialSource(source),
            retry: Self.retry,
            runtime: dependencies.runtime, isolation: dependencies.isolation)
        let request = AssumeRole(
            roleARN: role.arn, sessionName: role.sessionName ?? sessionName, duration: role.duration,
            externalID: role.externalID)
        do throws(STSError) {
            return try await client.assumeRole(
                request, takesLonger: true, deadline: dependencies.runtime.now() + Self.totalTimeout
            ).credentials
        } catch {
            throw .failed("AssumeRole of \(role.arn): \(Self.words(error))")
        }
    }

    /// - Parameter token: read before each attempt: an expired one may have been replaced.
    func assume(
        _ role: Role, withTokenFrom token: () throws(CredentialProviderError) -> String
    ) async throws(CredentialProviderError) -> Credentials {
        var counts = AttemptCounts()
        let retrier = Retrier(settings: Self.retry, runtime: dependencies.runtime)
        var unreadable: CredentialProviderError?
        do throws(AWSError) {
            let assumed = try await retrier.run(
                until: dependencies.runtime.now() + Self.totalTimeout, quota: RetryQuota(), counts: &counts
            ) { (timeout: Duration) async throws(AWSError) -> AssumedRole in
                let text: String
                do throws(CredentialProviderError) { text = try token() } catch {
                    unreadable = error
                    throw AWSError(.noCredentials, code: "NoToken")
                }
                let request = AssumeRoleWithWebIdentity(
                    roleARN: role.arn, sessionName: role.sessionName ?? sessionName, token: text)
                return try await send(request, timeout: timeout)
            }
            return assumed.credentials
        } catch {
            throw unreadable
                ?? .failed("AssumeRoleWithWebIdentity of \(role.arn): \(error.code) \(error.status)")
        }
    }

    private func send(_ request: AssumeRoleWithWebIdentity, timeout: Duration) async throws(AWSError) -> AssumedRole {
        let message = UpstreamRequest(
            method: "POST", url: "\(dependencies.sts.url)/",
            fields: [
                "content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": dependencies.sts.host,
            ],
            body: request.form)
        let response: UpstreamResponse
        do throws(TransportError) {
            response = try await dependencies.transport.send(message, timeout: timeout)
        } catch {
            throw AWSError(error)
        }
        guard response.status == 200 else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
        return try AssumedRole(
            response, of: "AssumeRoleWithWebIdentity", now: dependencies.runtime.wallClock())
    }

    private var sessionName: String {
        "cloakroom-\(Timestamp(dependencies.runtime.wallClock()).secondsSince1970)"
    }

    private static func words(_ error: STSError) -> String {
        switch error {
        case .unavailable(_, let code), .unusable(let code): code
        case .refused(let status, let code): "\(code) \(status)"
        case .cancelled: "cancelled"
        }
    }
}

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
