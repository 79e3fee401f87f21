import CloakroomAWS

/// What becomes of an item that was not sent.
enum OutboxRetry: Equatable {
    /// As if it had not been attempted: it was cancelled, or the device is at fault.
    case unchanged
    /// Retried after a wait; `isSilent` when the error is not shown, as for a connection that broke once, which is what
    /// a suspended process sees.
    case wait(isSilent: Bool)
    case fail

    /// The longest wait, in seconds: a later time was noted before the clock was set back.
    static let longestWait: Double = 86_400
    /// In seconds: a clock that is set back by no more, as for the sake of accuracy, ends no wait.
    static let clockTolerance: Double = 60
    static let backoff = Backoff(base: .seconds(2), cap: .seconds(900), maximumAttempts: .max)

    /// - Parameter failures: consecutive ones before this.
    init(_ error: CloakroomError, failures: Int) {
        switch error.code {
        case .cancelled, .notAllowedNow, .diskFull, .storeFailed, .laterVersion: self = .unchanged
        case .unreachable, .timedOut: self = .wait(isSilent: failures == 0)
        // The next attempt gets another URL, or begins another multipart upload.
        case .uploadURLExpired, .uploadNotFound, .uploadIncomplete: self = .wait(isSilent: true)
        default: self = error.isRetryable || error.reach == .all ? .wait(isSilent: false) : .fail
        }
    }

    /// In seconds: a jittered one, and never less than the server wants.
    static func wait(
        after error: CloakroomError, failures: Int, using generator: inout some RandomNumberGenerator
    ) -> Double {
        let jittered = backoff.delay(afterAttempt: failures, using: &generator) ?? backoff.cap
        let wanted = (error.retryAfter ?? .zero) + jittered
        return min(wanted / .seconds(1), longestWait)
    }
}
