import CloakroomCrypto
package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AWS Security Token Service, as far as we need it.
package actor STSClient {
    private nonisolated let isolation: any Actor
    private let upstream: AWSServiceClient
    /// This second's.
    private var cachedSigner: CachedFormSigner?
    /// By how much STS's clock is ahead of ours, as the last session told; `nil` where it told nothing.
    package private(set) var clockDifference: ClockDifference?

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

    /// - Parameters:
    ///   - request: evaluated for each attempt: while STS is waited for, only what was sent is held.
    ///   - takesLonger: whether credentials are taken that live longer than they were requested for. Those of users are
    ///     not: a service that ignores the duration would outdo what a tier allows.
    package func assumeRole(
        _ request: @autoclosure @Sendable () -> AssumeRole, takesLonger: Bool = false,
        deadline: ContinuousClock.Instant
    ) async throws(STSError) -> AssumedRole {
        var counts = AttemptCounts()
        var duration = Duration.zero
        var sent = Date.distantPast
        do throws(AWSError) {
            if upstream.cachedCredentials == nil { _ = try await upstream.currentCredentials() }
            return try await upstream.call(
                deadline: deadline, counts: &counts,
                request: {
                    sent = upstream.runtime.wallClock()
                    return signed(request, with: $0, for: &duration)
                },
                decode: { response throws(AWSError) in
                    try role(from: response, for: duration, sent: sent, takesLonger: takesLonger)
                })
        } catch {
            throw STSError(error)
        }
    }

    /// GetCallerIdentity, which takes no permission.
    package func callerIdentity(deadline: ContinuousClock.Instant) async throws(AWSError) -> CallerIdentity {
        var counts = AttemptCounts()
        return try await upstream.call(
            deadline: deadline, counts: &counts,
            request: { CachedFormSigner(upstream, $0).request(posting: CallerIdentity.form) },
            decode: { response throws(AWSError) in try CallerIdentity(response) })
    }

    @inline(never) private func role(
        from response: UpstreamResponse, for duration: Duration, sent: Date, takesLonger: Bool
    ) throws(AWSError) -> AssumedRole {
        guard response.status == 200 else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
        let role = try AssumedRole(response, now: upstream.time)
        guard takesLonger || role.expiration <= latestEnd(of: duration, response) else {
            throw AWSError(.refused, status: 200, code: "ExpiresTooLate")
        }
        clockDifference = difference(role.expiration, duration, response, sent: sent)
        return role
    }

    /// A session ends so long after STS made it. But a service may give less time than was requested, and `Date` may be that of a
    /// proxy: what only one of them says is no time of STS's.
    private func difference(
        _ expiration: Date, _ duration: Duration, _ response: UpstreamResponse, sent: Date
    ) -> ClockDifference? {
        let theirs = expiration.addingTimeInterval(-(duration / .seconds(1)))
        if let date = response.fields["date"].flatMap({ Timestamp(http: $0)?.date }),
            abs(date.timeIntervalSince(theirs)) > Self.dateTolerance
        {
            return nil
        }
        return ClockDifference(theirs: theirs, sent: sent, received: upstream.runtime.wallClock())
    }

    /// STS makes the session a moment before it responds; in seconds.
    private static let dateTolerance = 5.0

    /// When credentials end at the latest that were given for so long just now: by STS's clock, which may be as far ahead of
    /// ours as a signature may be old, and five minutes later for what the clocks differ unseen.
    private func latestEnd(of duration: Duration, _ response: UpstreamResponse) -> Date {
        let ours = upstream.time
        let theirs = response.fields["date"].flatMap { Timestamp(http: $0)?.date } ?? ours
        let now = max(ours, min(theirs, ours.addingTimeInterval(900)))
        return now.addingTimeInterval(duration / .seconds(1) + 300)
    }

    /// - Parameter duration: is set to that of the request.
    @inline(never) private func signed(
        _ request: () -> AssumeRole, with signing: AWSServiceClient.SigningContext, for duration: inout Duration
    ) -> UpstreamRequest {
        let request = request()
        duration = request.duration(with: signing.credentials)
        let cachedSigner: CachedFormSigner
        if let cached = self.cachedSigner, cached.matches(signing) {
            cachedSigner = cached
        } else {
            cachedSigner = CachedFormSigner(upstream, signing)
            self.cachedSigner = cachedSigner
        }
        return cachedSigner.request(posting: request.form(for: duration))
    }
}

/// Why there are no credentials for a session.
///
/// Indirect: each function in which a request waits for STS has room for one, and hardly one comes.
package indirect enum STSError: Error, Sendable, Equatable {
    /// STS is unreachable, throttles or sends no valid response, after retries too. Retryable.
    case unavailable(retryAfter: Duration?, code: String)
    /// STS returned 200 with what must not be handed out: no token, no expiration, or one in the past or later than
    /// requested.
    case unusable(code: String)
    /// STS said no to our role, policy or keys and would say so again: a misconfiguration.
    case refused(status: Int, code: String)
    case cancelled

    @inline(never) init(_ fault: AWSError) {
        switch fault.kind {
        case .transient where fault.status == 200 && Self.unusable.contains(fault.code),
            .refused where fault.status == 200 && Self.unusable.contains(fault.code):
            self = .unusable(code: fault.code)
        case .throttled, .transient, .noCredentials:
            self = .unavailable(retryAfter: fault.retryAfter, code: fault.code)
        case .staleCredentials, .skewedClock, .refused:
            self = .refused(status: fault.status, code: fault.code)
        case .cancelled:
            self = .cancelled
        }
    }

    private static let unusable: Set<String> = [
        "NoSessionToken", "NoExpiration", "AlreadyExpired", "ExpiresTooLate", "MalformedAnswer",
    ]
}

/// Signs forms that are posted to one service: they differ in nothing but the body.
///
/// Holds for one second, the one of `x-amz-date`, and for the credentials it was made with.
final class CachedFormSigner {
    private let origin: String
    private let target: String
    /// Sent as they are; without `authorization`.
    private let fields: HeaderFields
    /// The canonical request before the body's hash, which ends it.
    private let start: [UInt8]
    private let authorization: CachedAuthorizationSigner
    private let second: Int
    private let signing: Int

    init(_ upstream: AWSServiceClient, _ signing: AWSServiceClient.SigningContext) {
        let signer = SigV4(rules: .others)
        let timestamp = signing.time.basic
        var message = SigV4.Message(
            method: "POST", path: "\(upstream.endpoint.path)/",
            fields: [
                "content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": upstream.endpoint.host,
            ], payloadHash: "")
        signer.complete(&message, with: signing.credentials, timestamp: timestamp)
        let request = CanonicalRequest(message, query: [], rules: signer.rules)
        origin = upstream.origin
        target = message.path
        fields = message.fields
        start = request.bytes
        authorization = CachedAuthorizationSigner(
            request, with: signing.credentials, key: signing.key, timestamp: timestamp)
        second = signing.time.secondsSince1970
        self.signing = signing.number
    }

    /// Whether it was made with these credentials and in this second.
    func matches(_ signing: AWSServiceClient.SigningContext) -> Bool {
        signing.number == self.signing && signing.time.secondsSince1970 == second
    }

    func request(posting body: [UInt8]) -> UpstreamRequest {
        var canonical: [UInt8] = []
        canonical.reserveCapacity(start.count + 2 * SHA256.byteCount)
        canonical.append(contentsOf: start)
        canonical.append(hexadecimal: SHA256.hash(body))
        let authorization = authorization.authorization(of: canonical)
        var fields = HeaderFields()
        fields.reserve(fields: self.fields.count + 1, bytes: self.fields.text.count + authorization.count + 16)
        fields.add(self.fields)
        fields.add("authorization", authorization)
        return UpstreamRequest(method: "POST", origin: origin, target: target, fields: fields, body: body)
    }
}

/// Text that goes into many forms: percent-encoded once, and cut where each form fills in a value of its own.
package struct FormTemplate: Sendable, Equatable {
    private let parts: [[UInt8]]
    /// Of all parts together.
    let count: Int

    /// - Parameter parts: the text, cut at each placeholder.
    package init(_ parts: [String]) {
        self.parts = parts.map { part in
            var bytes: [UInt8] = []
            part.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
            return bytes
        }
        count = self.parts.reduce(0) { $0 + $1.count }
    }

    func append(filledWith value: String, to bytes: inout [UInt8]) {
        value.withUTF8Span { value in
            for index in parts.indices {
                if index > 0 { PercentEncoding.append(value, to: &bytes) }
                bytes.append(contentsOf: parts[index])
            }
        }
    }
}
