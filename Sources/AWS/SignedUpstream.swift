import CloakroomCrypto
import HTTPValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signed calls to one service: signs, sends, judges, tries again.
///
/// Belongs to the actor that made it: it keeps the day's signing key, the retry quota and what is known of the clocks.
final class SignedUpstream {
    /// What a client is made of.
    struct Parts {
        let service: Attempt.Service
        let endpoint: Endpoint
        let transport: any Transport
        let credentials: CredentialSource
        let retry: RetrySettings
        let surroundings: Surroundings
        let onAttempt: @Sendable (Attempt) -> Void
    }

    let endpoint: Endpoint
    let surroundings: Surroundings
    private let parts: Parts
    let origin: String
    private let signer: SigV4
    private let retrier: Retrier
    private let quota = RetryQuota()
    private var keyed: Keyed?
    /// What AWS's clock shows when ours shows 0, in seconds.
    private var clockOffset: Double = 0

    /// A day's key.
    private struct Keyed {
        let credentials: Credentials
        let day: Int
        let key: SigningKey
        let number: Int
    }

    /// With what one try is signed.
    struct Signing {
        let credentials: Credentials
        let key: SigningKey
        let time: Timestamp
        /// Another one for other credentials and for another day.
        let number: Int
    }

    init(_ parts: Parts) {
        self.parts = parts
        endpoint = parts.endpoint
        surroundings = parts.surroundings
        origin = "\(parts.endpoint.scheme.rawValue)://\(parts.endpoint.host)"
        signer = SigV4(rules: parts.service == .s3 ? .s3 : .others)
        retrier = Retrier(settings: parts.retry, surroundings: parts.surroundings)
    }

    /// Whether a call is tried again that had no answer in time.
    var triesAgain: Bool { parts.retry.transient.maximumAttempts > 1 }

    /// AWS's time, as well as we know it.
    var time: Date { surroundings.wallClock().addingTimeInterval(clockOffset) }

    /// - Parameters:
    ///   - message: unsigned.
    ///   - attempts: which of the settings' attempts are made.
    ///   - timeout: of one try; `nil` for the settings'.
    ///   - judge: gives the answer's meaning, or throws what is wrong with it.
    func call<Value>(
        _ operation: Attempt.Operation, _ message: SigV4.Message, body: [UInt8] = [],
        attempts: Retrier.Attempts = .all, deadline: ContinuousClock.Instant, timeout: Duration? = nil,
        effort: inout Effort, judge: (UpstreamResponse) throws(Fault) -> Value
    ) async throws(Fault) -> Value {
        try await call(
            operation, attempts: attempts, deadline: deadline, timeout: timeout, effort: &effort,
            request: { signed(message, body: body, with: $0) }, judge: judge)
    }

    /// A call whose body only the caller can send, or whose answer only the caller can take.
    ///
    /// - Parameter message: unsigned; asked for anew for each try.
    func transfer<Value>(
        _ operation: Attempt.Operation, _ transfer: Transfer, effort: inout Effort, message: () -> SigV4.Message,
        judge: (UpstreamResponse) throws(Fault) -> Value
    ) async throws(Fault) -> Value {
        try await call(
            operation, deadline: transfer.deadline, timeout: transfer.timeout, effort: &effort,
            request: { signed(message(), body: [], with: $0) }, send: transfer.send, judge: judge)
    }

    /// - Parameters:
    ///   - request: makes the signed request, for each try anew.
    ///   - send: sends it; `nil` for the transport.
    func call<Value>(
        _ operation: Attempt.Operation, attempts: Retrier.Attempts = .all, deadline: ContinuousClock.Instant,
        timeout: Duration? = nil, effort: inout Effort, request: (Signing) -> UpstreamRequest,
        send: Transfer.Sender? = nil,
        judge: (UpstreamResponse) throws(Fault) -> Value
    ) async throws(Fault) -> Value {
        try await retrier.run(
            until: deadline, quota: quota, attempts: attempts, timeout: timeout, effort: &effort
        ) {
            (attempt: Int, timeout: Duration) async throws(Fault) -> Value in
            let start = surroundings.now()
            let result = await once(request, send: send, timeout: timeout, judge: judge)
            var fault: Fault?
            if case .failure(let failure) = result { fault = failure }
            parts.onAttempt(
                Attempt(
                    service: parts.service, operation: operation, number: attempt, fault: fault,
                    duration: start.duration(to: surroundings.now())))
            return try result.get()
        }
    }

    /// Signs URLs that somebody else may use; nothing is sent.
    ///
    /// - Parameter seconds: how long they are to hold.
    /// - Returns: the URLs, and when they end.
    func presign(
        _ messages: [SigV4.Message], for seconds: Int
    ) async throws(Fault) -> (urls: [Secret], expiration: Date) {
        let lease = try await lease(for: seconds)
        let urls = messages.map { message in
            var message = message
            signer.presign(
                &message, for: lease.seconds, with: lease.signing.credentials, key: lease.signing.key,
                at: lease.signing.time)
            return Secret("\(origin)\(message.path)?\(message.query)")
        }
        return (urls, lease.expiration)
    }

    /// With what something is signed that somebody else will send, and how long that holds.
    struct Lease {
        let signing: Signing
        /// At least one.
        let seconds: Int

        var expiration: Date { signing.time.date.addingTimeInterval(Double(seconds)) }
    }

    /// - Parameter seconds: as long as that, but never longer than the credentials themselves.
    /// - Throws: ``Fault`` without credentials, and for those that have ended.
    func lease(for seconds: Int) async throws(Fault) -> Lease {
        let credentials = try await currentCredentials()
        let signing = signing(with: credentials)
        guard let end = credentials.expiration else { return Lease(signing: signing, seconds: seconds) }
        let left = end.timeIntervalSince(signing.time.date).rounded(.down)
        guard left >= 1 else { throw Fault(.noCredentials, code: "ExpiredCredentials") }
        return Lease(signing: signing, seconds: left < Double(seconds) ? Int(left) : seconds)
    }

    private func once<Value>(
        _ request: (Signing) -> UpstreamRequest, send: Transfer.Sender?, timeout: Duration,
        judge: (UpstreamResponse) throws(Fault) -> Value
    ) async -> Result<Value, Fault> {
        let credentials: Credentials
        if let known = credentialsAtHand {
            credentials = known
        } else {
            do { credentials = try await currentCredentials() } catch { return .failure(error) }
        }
        // Others may have it corrected while this is on its way.
        let offset = clockOffset
        let response: UpstreamResponse
        if let send {
            do { response = try await send(request(signing(with: credentials)), timeout) } catch {
                return .failure(error)
            }
        } else {
            do {
                response = try await parts.transport.send(request(signing(with: credentials)), timeout: timeout)
            } catch {
                return .failure(Fault(error))
            }
        }
        do {
            let value = try judge(response)
            if clockOffset != 0 { confirmClock(response) }
            return .success(value)
        } catch {
            return .failure(await corrected(error, response: response, credentials: credentials, offset: offset))
        }
    }

    private func signed(_ message: SigV4.Message, body: [UInt8], with signing: Signing) -> UpstreamRequest {
        var message = message
        signer.sign(&message, with: signing.credentials, key: signing.key, at: signing.time)
        let target = message.query.isEmpty ? message.path : message.path + "?" + message.query
        return UpstreamRequest(
            method: message.method, origin: origin, target: target, fields: message.fields, body: body)
    }

    private func signing(with credentials: Credentials) -> Signing {
        let time = Timestamp(self.time)
        if let keyed, keyed.day == time.daysSince1970, Self.same(keyed.credentials, credentials) {
            return Signing(credentials: credentials, key: keyed.key, time: time, number: keyed.number)
        }
        let key = SigningKey(
            secretAccessKey: credentials.secretAccessKey, day: time.day, region: endpoint.signingRegion,
            service: parts.service.rawValue)
        let number = (keyed?.number ?? 0) + 1
        keyed = Keyed(credentials: credentials, day: time.daysSince1970, key: key, number: number)
        return Signing(credentials: credentials, key: key, time: time, number: number)
    }

    /// Both are ours: nobody learns anything from how long this takes.
    private static func same(_ left: Credentials, _ right: Credentials) -> Bool {
        left.accessKeyID == right.accessKeyID && left.secretAccessKey.reveal() == right.secretAccessKey.reveal()
            && left.sessionToken?.reveal() == right.sessionToken?.reveal()
    }

    /// Those that nobody has to be waited for.
    var credentialsAtHand: Credentials? { parts.credentials.constant ?? parts.credentials.atHand() }

    func currentCredentials() async throws(Fault) -> Credentials {
        if let known = credentialsAtHand { return known }
        do {
            return try await parts.credentials.current()
        } catch is CancellationError {
            throw Fault(.cancelled, code: "Cancelled")
        } catch {
            throw Fault(.noCredentials, code: "NoCredentials")
        }
    }

    /// Does what a fault asks for before the next try. Where nothing can be done, the fault becomes a refusal.
    ///
    /// - Parameter offset: by which the clock was corrected when the request was signed.
    private func corrected(
        _ fault: Fault, response: UpstreamResponse, credentials: Credentials, offset: Double
    ) async -> Fault {
        var fault = fault
        if fault.kind == .skewedClock, !correctClock(response, signedAt: offset) {
            fault.kind = Fault.mayBeWrongKeys(code: fault.code) ? .staleCredentials : .refused
        }
        if fault.kind == .staleCredentials {
            await parts.credentials.whenRefused(credentials)
            let next = try? await currentCredentials()
            if next == nil || next == credentials { fault.kind = .refused }
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

    /// A store may have told a wrong time once: no response corrects the clock of presigned URLs.
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
        return theirs.date.timeIntervalSince(surroundings.wallClock())
    }

    /// 2020 to 2099.
    private static let plausible = 1_577_836_800..<4_102_444_800
}
