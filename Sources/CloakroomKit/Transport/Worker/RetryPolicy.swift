/// How often and for how long a client retries.
public struct RetryPolicy: Sendable, Equatable {
    /// For one call to the worker, all its attempts and pauses included. A token provider's time counts, but is not cut
    /// short.
    public var deadline: Duration
    /// For one attempt.
    public var timeout: Duration
    /// Of a call or an upload; 1 for no retry.
    public var maximumAttempts: Int
    /// For one upload of an asset, all its attempts included.
    public var uploadDeadline: Duration
    /// How long an upload may make no progress.
    public var uploadIdleTimeout: Duration

    public init(
        deadline: Duration = .seconds(30), timeout: Duration = .seconds(10), maximumAttempts: Int = 4,
        uploadDeadline: Duration = .seconds(3600), uploadIdleTimeout: Duration = .seconds(30)
    ) {
        self.deadline = deadline
        self.timeout = timeout
        self.maximumAttempts = maximumAttempts
        self.uploadDeadline = uploadDeadline
        self.uploadIdleTimeout = uploadIdleTimeout
    }
}
