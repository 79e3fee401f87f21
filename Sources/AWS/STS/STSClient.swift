package import HTTPValues

/// AWS Security Token Service, as far as we need it.
package actor STSClient {
    private nonisolated let place: any Actor
    private let upstream: SignedUpstream
    /// This second's.
    private var stencil: FormStencil?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { place.unownedExecutor }

    /// - Parameters:
    ///   - place: the actor on whose executor the client runs; `nil` for one of its own.
    ///   - onAttempt: told of every try.
    package init(
        endpoint: Endpoint, transport: any Transport, credentials: CredentialSource, retry: RetrySettings = .init(),
        surroundings: Surroundings = .init(), place: (any Actor)? = nil,
        onAttempt: @escaping @Sendable (Attempt) -> Void = { _ in }
    ) {
        self.place = place ?? OwnPlace()
        upstream = SignedUpstream(
            .init(
                service: .sts, endpoint: endpoint, transport: transport, credentials: credentials, retry: retry,
                surroundings: surroundings, onAttempt: onAttempt))
    }

    /// Where our own credentials are a role's, the session lasts an hour at most: for such a chain STS refuses more.
    ///
    /// - Parameter request: consumed, so that nobody who waits for STS holds a policy that is in the body already.
    package func assumeRole(
        _ request: consuming AssumeRole, deadline: ContinuousClock.Instant
    ) async throws(STSError) -> AssumedRole {
        var effort = Effort()
        do {
            let credentials =
                if let known = upstream.credentialsAtHand { known } else { try await upstream.currentCredentials() }
            let body = credentials.sessionToken == nil ? request.form : request.limited(to: .seconds(3600)).form
            _ = consume request
            return try await upstream.call(
                .assumeRole, deadline: deadline, effort: &effort, request: { self.request(posting: body, with: $0) }
            ) { response throws(Fault) in
                guard response.status == 200 else { throw Fault(response, error: ErrorAnswer(response.body)) }
                return try AssumedRole(response, now: upstream.time)
            }
        } catch {
            throw STSError(error)
        }
    }

    private func request(posting body: [UInt8], with signing: SignedUpstream.Signing) -> UpstreamRequest {
        let stencil: FormStencil
        if let known = self.stencil, known.isFor(signing) {
            stencil = known
        } else {
            stencil = FormStencil(upstream, signing)
            self.stencil = stencil
        }
        return stencil.request(posting: body)
    }
}
