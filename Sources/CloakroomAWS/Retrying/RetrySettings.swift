/// How patient a client is.
///
/// Source: botocore 1.44.5, `retries/standard.py`.
package struct RetrySettings: Sendable, Equatable {
    /// After answers that another try may well better.
    package var transient: Backoff
    /// After answers that say "slow down".
    package var throttled: Backoff
    /// One try, name resolution included.
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
