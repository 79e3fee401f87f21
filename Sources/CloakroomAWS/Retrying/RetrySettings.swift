/// How often a call is attempted, and how long each attempt may take.
///
/// Source: botocore 1.44.5, `retries/standard.py`.
package struct RetrySettings: Sendable, Equatable {
    /// After retryable errors.
    package var transient: Backoff
    /// After throttling.
    package var throttled: Backoff
    /// One attempt, name resolution included.
    package var timeout: Duration

    package init(
        transient: Backoff = Backoff(), throttled: Backoff = Backoff(base: .seconds(1)), timeout: Duration = .seconds(5)
    ) {
        self.transient = transient
        self.throttled = throttled
        self.timeout = timeout
    }

    package init(maximumAttempts: Int, timeout: Duration) {
        self.init(
            transient: Backoff(maximumAttempts: maximumAttempts),
            throttled: Backoff(base: .seconds(1), maximumAttempts: maximumAttempts), timeout: timeout)
    }
}
