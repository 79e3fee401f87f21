package import CloakroomHTTP

/// AWS Security Token Service, as far as we need it.
package actor STSClient {
    private nonisolated let isolation: any Actor
    private let upstream: AWSServiceClient
    /// This second's.
    private var cachedSigner: CachedFormSigner?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { isolation.unownedExecutor }

    /// - Parameters:
    ///   - isolation: the actor on whose executor the client runs; `nil` for one of its own.
    ///   - onAttempt: told of every attempt.
    package init(
        endpoint: Endpoint, transport: any Transport, credentials: CredentialSource, retry: RetrySettings = .init(),
        runtime: RuntimeDependencies = .init(), isolation: (any Actor)? = nil,
        onAttempt: @escaping @Sendable (Attempt) -> Void = { _ in }
    ) {
        self.isolation = isolation ?? DefaultIsolation()
        upstream = AWSServiceClient(
            .init(
                service: .sts, endpoint: endpoint, transport: transport, credentials: credentials, retry: retry,
                runtime: runtime, onAttempt: onAttempt))
    }

    /// Where our own credentials are a role's, the session lasts an hour at most: for such a chain STS refuses more.
    ///
    /// - Parameter request: consumed, so that no policy is held while STS works: the body has it already.
    package func assumeRole(
        _ request: consuming AssumeRole, deadline: ContinuousClock.Instant
    ) async throws(STSError) -> AssumedRole {
        var counts = AttemptCounts()
        do {
            let credentials =
                if let cached = upstream.cachedCredentials { cached } else { try await upstream.currentCredentials() }
            let body = credentials.sessionToken == nil ? request.form : request.limited(to: .seconds(3600)).form
            _ = consume request
            return try await upstream.call(
                .assumeRole, deadline: deadline, counts: &counts, request: { self.request(posting: body, with: $0) }
            ) { response throws(AWSError) in
                guard response.status == 200 else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
                return try AssumedRole(response, now: upstream.time)
            }
        } catch {
            throw STSError(error)
        }
    }

    private func request(posting body: [UInt8], with signing: AWSServiceClient.SigningContext) -> UpstreamRequest {
        let cachedSigner: CachedFormSigner
        if let cached = self.cachedSigner, cached.matches(signing) {
            cachedSigner = cached
        } else {
            cachedSigner = CachedFormSigner(upstream, signing)
            self.cachedSigner = cachedSigner
        }
        return cachedSigner.request(posting: body)
    }
}
