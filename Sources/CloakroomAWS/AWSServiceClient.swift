import CloakroomCrypto
import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signed calls to one service: signs, sends, decodes, retries.
///
/// Belongs to the actor that made it: it keeps the day's signing key, the retry quota and what is cached of the clocks.
final class AWSServiceClient {
    /// What a client is made of.
    struct Configuration {
        let service: Attempt.Service
        let endpoint: Endpoint
        let transport: any Transport
        let credentials: CredentialSource
        let retry: RetrySettings
        let runtime: RuntimeDependencies
        let onAttempt: @Sendable (Attempt) -> Void
    }

    let endpoint: Endpoint
    let runtime: RuntimeDependencies
    private let configuration: Configuration
    let origin: String
    private let signer: SigV4
    private let retrier: Retrier
    private let quota = RetryQuota()
    private var cachedKey: CachedSigningKey?
    /// What AWS's clock shows when ours shows 0, in seconds.
    private var clockOffset: Double = 0

    /// A day's key.
    private struct CachedSigningKey {
        let credentials: Credentials
        let day: Int
        let key: SigningKey
        let number: Int
    }

    /// With what one attempt is signed.
    struct SigningContext {
        let credentials: Credentials
        let key: SigningKey
        let time: Timestamp
        /// Another one for other credentials and for another day.
        let number: Int
    }

    init(_ configuration: Configuration) {
        self.configuration = configuration
        endpoint = configuration.endpoint
        runtime = configuration.runtime
        origin = "\(configuration.endpoint.scheme.rawValue)://\(configuration.endpoint.host)"
        signer = SigV4(rules: configuration.service == .s3 ? .s3 : .others)
        retrier = Retrier(settings: configuration.retry, runtime: configuration.runtime)
    }

    /// Whether a call is retried that had no response in time.
    var retriesAfterTimeout: Bool { configuration.retry.transient.maximumAttempts > 1 }

    /// AWS's time, as well as we know it.
    var time: Date { runtime.wallClock().addingTimeInterval(clockOffset) }

    /// - Parameters:
    ///   - message: unsigned.
    ///   - attempts: which of the settings' attempts are made.
    ///   - timeout: of one attempt; `nil` for the settings'.
    ///   - decode: decodes the response, or throws what is wrong with it.
    func call<Value>(
        _ message: SigV4.Message, body: [UInt8] = [], attempts: Retrier.Attempts = .all,
        deadline: ContinuousClock.Instant, timeout: Duration? = nil, counts: inout AttemptCounts,
        decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        try await call(
            attempts: attempts, deadline: deadline, timeout: timeout, counts: &counts,
            request: { signed(message, body: body, with: $0) }, decode: decode)
    }

    /// A call whose body only the caller can send, or whose response only the caller can read.
    ///
    /// - Parameter message: unsigned; called for each attempt.
    func transfer<Value>(
        _ transfer: Transfer, counts: inout AttemptCounts, message: () -> SigV4.Message,
        decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        try await call(
            deadline: transfer.deadline, timeout: transfer.timeout, counts: &counts,
            request: { signed(message(), body: [], with: $0) }, send: transfer.send, decode: decode)
    }

    /// - Parameters:
    ///   - request: makes the signed request, for each attempt.
    ///   - send: sends it; `nil` for the transport.
    func call<Value>(
        attempts: Retrier.Attempts = .all, deadline: ContinuousClock.Instant, timeout: Duration? = nil,
        counts: inout AttemptCounts, request: (SigningContext) -> UpstreamRequest, send: Transfer.Sender? = nil,
        decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        try await retrier.run(
            until: deadline, quota: quota, attempts: attempts, timeout: timeout, counts: &counts
        ) {
            (timeout: Duration) async throws(AWSError) -> Value in
            let start = runtime.now()
            do throws(AWSError) {
                let value = try await sendOnce(request, send: send, timeout: timeout, decode: decode)
                report(nil, since: start)
                return value
            } catch {
                report(error, since: start)
                throw error
            }
        }
    }

    // Not inlined, as in `Retrier`.
    @inline(never) private func report(_ fault: AWSError?, since start: ContinuousClock.Instant) {
        configuration.onAttempt(
            Attempt(service: configuration.service, fault: fault, duration: start.duration(to: runtime.now())))
    }

    /// Signs a request that the caller sends, within the minutes for which AWS takes it; nothing is sent.
    ///
    /// - Parameter offset: as for ``presign(_:for:offset:)``.
    /// - Throws: ``AWSError`` without credentials.
    func signed(_ message: SigV4.Message, offset: Double) async throws(AWSError) -> UpstreamRequest {
        let credentials = try await currentCredentials()
        return signed(message, body: [], with: signing(with: credentials, at: Timestamp(time(offset: offset))))
    }

    /// Presigns URLs for clients; nothing is sent.
    ///
    /// - Parameters:
    ///   - seconds: how long they are to hold.
    ///   - offset: what AWS's clock shows when ours shows 0, in seconds, as far as the caller knows; a correction that AWS's
    ///     own response called for goes before it.
    /// - Returns: the URLs, and when they end.
    func presign(
        _ messages: [SigV4.Message], for seconds: Int, offset: Double = 0
    ) async throws(AWSError) -> (urls: [Secret], expiration: Date) {
        let presigningContext = try await presigningContext(for: seconds, offset: offset)
        let urls = messages.map { message in
            var message = message
            signer.presign(
                &message, for: presigningContext.seconds, with: presigningContext.signing.credentials,
                key: presigningContext.signing.key,
                at: presigningContext.signing.time)
            return Secret("\(origin)\(message.path)?\(message.query)")
        }
        return (urls, presigningContext.expiration)
    }

    /// What a presigned request is signed with, and how long that holds.
    struct PresigningContext {
        let signing: SigningContext
        /// At least one.
        let seconds: Int

        var expiration: Date { signing.time.date.addingTimeInterval(Double(seconds)) }
    }

    /// - Parameter seconds: as long as that, but never longer than the credentials themselves.
    /// - Throws: ``AWSError`` without credentials, and for those that have ended.
    func presigningContext(for seconds: Int, offset: Double = 0) async throws(AWSError) -> PresigningContext {
        let credentials = try await currentCredentials()
        let signing = signing(with: credentials, at: Timestamp(time(offset: offset)))
        guard let end = credentials.expiration else { return PresigningContext(signing: signing, seconds: seconds) }
        let left = end.timeIntervalSince(signing.time.date).rounded(.down)
        guard left >= 1 else { throw AWSError(.noCredentials, code: "ExpiredCredentials") }
        return PresigningContext(signing: signing, seconds: left < Double(seconds) ? Int(left) : seconds)
    }

    /// AWS's time: by its own correction of our clock, else by the caller's offset.
    private func time(offset: Double) -> Date {
        clockOffset == 0 ? runtime.wallClock().addingTimeInterval(offset) : time
    }

    private func sendOnce<Value>(
        _ request: (SigningContext) -> UpstreamRequest, send: Transfer.Sender?, timeout: Duration,
        decode: (UpstreamResponse) throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        let credentials = if let cached = cachedCredentials { cached } else { try await currentCredentials() }
        // Others may have it corrected while this is on its way.
        let offset = clockOffset
        let signed = signed(request, by: credentials)
        let response = if let send { try await send(signed, timeout) } else { try await sent(signed, timeout) }
        do throws(AWSError) {
            return try decoded(response, decode)
        } catch {
            throw await corrected(error, response: response, credentials: credentials, offset: offset)
        }
    }

    @inline(never) private func signed(
        _ request: (SigningContext) -> UpstreamRequest, by credentials: Credentials
    ) -> UpstreamRequest {
        request(signing(with: credentials))
    }

    /// What the transport has brought, its errors as those of a call.
    @inline(never) private func sent(
        _ request: consuming UpstreamRequest, _ timeout: Duration
    ) async throws(AWSError) -> UpstreamResponse {
        do throws(TransportError) {
            return try await configuration.transport.send(request, timeout: timeout)
        } catch {
            throw AWSError(error)
        }
    }

    @inline(never) private func decoded<Value>(
        _ response: UpstreamResponse, _ decode: (UpstreamResponse) throws(AWSError) -> Value
    ) throws(AWSError) -> Value {
        let value = try decode(response)
        if clockOffset != 0 { confirmClock(response) }
        return value
    }

    private func signed(_ message: SigV4.Message, body: [UInt8], with signing: SigningContext) -> UpstreamRequest {
        var message = message
        signer.sign(&message, with: signing.credentials, key: signing.key, at: signing.time)
        let target = message.query.isEmpty ? message.path : message.path + "?" + message.query
        return UpstreamRequest(
            method: message.method, origin: origin, target: target, fields: message.fields, body: body)
    }

    @inline(never) private func signing(with credentials: Credentials) -> SigningContext {
        signing(with: credentials, at: Timestamp(time))
    }

    private func signing(with credentials: Credentials, at time: Timestamp) -> SigningContext {
        if let cachedKey, cachedKey.day == time.daysSince1970, Self.same(cachedKey.credentials, credentials) {
            return SigningContext(credentials: credentials, key: cachedKey.key, time: time, number: cachedKey.number)
        }
        let key = SigningKey(
            secretAccessKey: credentials.secretAccessKey, day: time.day, region: endpoint.signingRegion,
            service: configuration.service.rawValue)
        let number = (cachedKey?.number ?? 0) + 1
        cachedKey = CachedSigningKey(credentials: credentials, day: time.daysSince1970, key: key, number: number)
        return SigningContext(credentials: credentials, key: key, time: time, number: number)
    }

    /// Both are ours: the comparison need not take constant time.
    private static func same(_ left: Credentials, _ right: Credentials) -> Bool {
        left === right
            || left.accessKeyID == right.accessKeyID && left.secretAccessKey.reveal() == right.secretAccessKey.reveal()
                && left.sessionToken?.reveal() == right.sessionToken?.reveal()
    }

    /// Those that are available without suspension.
    var cachedCredentials: Credentials? { configuration.credentials.constant ?? configuration.credentials.cached() }

    func currentCredentials() async throws(AWSError) -> Credentials {
        if let cached = cachedCredentials { return cached }
        do {
            return try await configuration.credentials.current()
        } catch is CancellationError {
            throw AWSError(.cancelled, code: "Cancelled")
        } catch {
            throw AWSError(.noCredentials, code: "NoCredentials")
        }
    }

    /// Does what an error calls for before the next attempt. Where nothing can be done, it becomes a refusal.
    ///
    /// - Parameter offset: by which the clock was corrected when the request was signed.
    private func corrected(
        _ fault: AWSError, response: UpstreamResponse, credentials: Credentials, offset: Double
    ) async -> AWSError {
        var fault = fault
        if fault.kind == .skewedClock, !correctClock(response, signedAt: offset) {
            fault = fault.with(AWSError.mayBeWrongKeys(code: fault.code) ? .staleCredentials : .refused)
        }
        if fault.kind == .staleCredentials {
            await configuration.credentials.onRejected(credentials)
            let next = try? await currentCredentials()
            if next == nil || next == credentials { fault = fault.with(.refused) }
        }
        return fault
    }

    /// - Returns: whether the clocks did differ by more than they may when the request was signed.
    private func correctClock(_ response: UpstreamResponse, signedAt signedOffset: Double) -> Bool {
        guard let offset = offset(in: response) else { return false }
        // AWS tolerates a quarter of an hour; its own SDKs correct from five minutes.
        guard abs(offset - signedOffset) >= 300 else { return false }
        clockOffset = offset
        return true
    }

    /// A store may once have told a wrong time: no other response corrects the clock of presigned URLs.
    private func confirmClock(_ response: UpstreamResponse) {
        guard let offset = offset(in: response), abs(offset - clockOffset) >= 300 else { return }
        clockOffset = abs(offset) >= 300 ? offset : 0
    }

    /// By how much the store's clock is ahead of ours, in seconds.
    ///
    /// - Returns: `nil` without a `Date`, and for one that no clock of this century shows.
    private func offset(in response: UpstreamResponse) -> Double? {
        guard let text = response.fields["date"], let theirs = Timestamp(http: text),
            Self.plausible.contains(theirs.secondsSince1970)
        else { return nil }
        return theirs.date.timeIntervalSince(runtime.wallClock())
    }

    /// 2020 to 2099.
    private static let plausible = 1_577_836_800..<4_102_444_800
}
