/// Why there are no credentials for a session.
package enum STSError: Error, Sendable, Equatable {
    /// STS is unreachable, throttles or sends no valid response, after retries too. Retryable.
    case unavailable(retryAfter: Duration?, code: String)
    /// STS returned 200 with what must not be handed out: no token, no expiration, or one in the past.
    case unusable(code: String)
    /// STS said no to our role, policy or keys and would say so again: a misconfiguration.
    case refused(status: Int, code: String)
    case cancelled

    init(_ fault: AWSError) {
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

    private static let unusable: Set<String> = ["NoSessionToken", "NoExpiration", "AlreadyExpired", "MalformedAnswer"]
}
