import CloakroomAWS
import Foundation

/// How long no request is sent to the vendor after a failure: a jittered delay, or the server's `Retry-After`.
struct RefreshBackoff: Sendable {
    /// The longest `Retry-After` that is followed: the server's longest rate-limit window.
    static let longestServerDelay: Duration = .seconds(3600)
    /// On top of it comes a second: the jitter alone may be nothing.
    static let backoff = Backoff(base: .seconds(2), cap: .seconds(60), maximumAttempts: .max)

    private var failures = 0
    private var end: ContinuousClock.Instant?
    /// The end of the server's `Retry-After`, and the response that had it.
    private var serverDelay: (error: CloakroomError, end: ContinuousClock.Instant)?

    mutating func begin(
        after error: CloakroomError, at now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator
    ) {
        let jittered = Self.backoff.delay(afterAttempt: failures, using: &generator) ?? Self.backoff.cap
        failures += 1
        serverDelay = error.retryAfter.map { (error, now.advanced(by: min($0, Self.longestServerDelay))) }
        let own = now.advanced(by: .seconds(1) + jittered)
        end = max(own, serverDelay?.end ?? own)
    }

    /// After a success, no request is sent for a second, however short the lifetime of the credentials.
    mutating func begin(afterSuccessAt now: ContinuousClock.Instant) {
        failures = 0
        serverDelay = nil
        end = now.advanced(by: .seconds(1))
    }

    func isOn(at now: ContinuousClock.Instant) -> Bool { end.map { now < $0 } ?? false }

    /// - Returns: before the end of `Retry-After`, the server's response, with what is left of the time.
    func refusal(at now: ContinuousClock.Instant) -> CloakroomError? {
        guard let (error, end) = serverDelay, now < end else { return nil }
        var rest = error
        rest.retryAfter = end - now
        return rest
    }
}

/// Consecutive refusals: new credentials after each would overload the vendor when S3 accepts none of them.
struct RefusalCount: Sendable {
    /// Credentials that were in use for so long were valid once: earlier refusals are forgotten.
    static let probation: TimeInterval = 60

    private var count = 0

    /// - Parameter age: for how long the refused ones have been held.
    /// - Returns: whether it is worth getting others. The first time it is; after that only once these were held for
    ///   1, 2, 4 … seconds.
    mutating func shouldReplace(age: TimeInterval) -> Bool {
        if age >= Self.probation { count = 0 }
        let minimumAge = count == 0 ? 0 : min(Self.probation, Double(1 << min(count - 1, 10)))
        guard age >= minimumAge else { return false }
        count += 1
        return true
    }
}
