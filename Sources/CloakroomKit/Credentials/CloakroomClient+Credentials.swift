import CloakroomCrypto
import CloakroomWire
import Foundation

extension CloakroomClient: TimekeepingVendor {
    public func vendCredentials() async throws -> VendedCredentials {
        try await vendCredentials(scope: nil, lifetime: nil)
    }

    /// Credentials for the user's own part of the bucket, and where that is.
    ///
    /// - Parameters:
    ///   - scope: a name of the operator's, for fewer rights than the user has; `nil` for all of them.
    ///   - lifetime: for less time, in whole seconds.
    /// - Throws: ``CloakroomError``: `forbidden` for a scope that the user does not have, `invalidRequest` for an
    ///   impossible lifetime, `userDisabled`, `subscriptionRequired`, `storageQuotaExceeded`, `invalidResponse` for prefixes
    ///   that no key may begin with.
    public func vendCredentials(scope: String?, lifetime: Duration?) async throws -> VendedCredentials {
        let request = CredentialRequest(scope: scope, lifetimeSeconds: lifetime.map { Int($0.components.seconds) })
        let body: STSTokenBody = try await body(
            of: WorkerRequest(route: .stsToken, body: request == CredentialRequest() ? nil : request.encoded))
        return try VendedCredentials(
            accessKeyID: body.credentials.accessKeyId, secretAccessKey: Secret(body.credentials.secretAccessKey),
            sessionToken: Secret(body.credentials.sessionToken), expiration: body.credentials.expiration,
            region: body.region, bucket: body.bucket, userID: body.userId, prefixes: body.prefixes,
            shared: (body.shared ?? []).map { .init(prefix: $0.prefix, owner: $0.owner, until: $0.until) }
        ).checked()
    }

    /// The same credentials without region and bucket, in the shape that AWS SDKs know: for handing them to one.
    ///
    /// An SDK that fetches them itself is given the route's URL in `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
    public func containerCredentials(
        scope: String? = nil, lifetime: Duration? = nil
    ) async throws -> ContainerCredentials {
        let request = CredentialRequest(scope: scope, lifetimeSeconds: lifetime.map { Int($0.components.seconds) })
        let body: ContainerCredentialsBody = try await body(
            of: WorkerRequest(route: .containerCredentials, query: request.query))
        return ContainerCredentials(
            accessKeyID: body.accessKeyID, secretAccessKey: Secret(body.secretAccessKey),
            sessionToken: Secret(body.token), expiration: body.expiration)
    }
}
