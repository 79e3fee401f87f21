/// Retries, within a deadline and within a quota.
///
/// What it does between attempts stands in functions of its own, which are not inlined: a caller that waits keeps room for
/// all that the function it waits in ever needs, thousands of times at once.
final class Retrier: Sendable {
    let settings: RetrySettings
    let runtime: RuntimeDependencies

    init(settings: RetrySettings, runtime: RuntimeDependencies) {
        self.settings = settings
        self.runtime = runtime
    }

    /// Which of the settings' attempts a call makes.
    enum Attempts {
        case all
        /// All, unless one has no response in time.
        case untilTimeout
        /// Those that are left after the first had no response in time.
        case afterTimeout
        case one
    }

    /// - Parameters:
    ///   - quota: shared by all calls of a client.
    ///   - timeout: of one attempt; `nil` for the settings'.
    ///   - try: is told how long it may take.
    func run<Value>(
        until deadline: ContinuousClock.Instant, quota: RetryQuota, attempts: Attempts = .all, timeout: Duration? = nil,
        counts: inout AttemptCounts,
        try: (_ timeout: Duration) async throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        var progress = Progress(attempt: attempts == .afterTimeout ? 1 : 0)
        while true {
            let left = try left(until: deadline, timeout)
            counts.attempts += 1
            do {
                let value = try await `try`(left)
                quota.refund(progress.cost)
                return value
            } catch {
                if error.kind == .throttled { counts.throttles += 1 }
                let delay = try delay(after: error, attempts, until: deadline, quota, &progress)
                guard await isAwake(after: delay) else { throw AWSError(.cancelled, code: "Cancelled") }
            }
        }
    }

    private struct Progress {
        var attempt: Int
        /// What the last retry has cost.
        var cost = 0
        var corrected: Set<AWSError.Kind> = []
    }

    /// How long the next attempt may take.
    @inline(never) private func left(
        until deadline: ContinuousClock.Instant, _ timeout: Duration?
    ) throws(AWSError) -> Duration {
        let left = runtime.now().duration(to: deadline)
        guard left > .zero else { throw AWSError(.transient, code: "DeadlineExceeded") }
        return min(timeout ?? settings.timeout, left)
    }

    /// How long to wait for the next attempt.
    ///
    /// - Throws: the error itself, when there is no other attempt.
    @inline(never) private func delay(
        after error: AWSError, _ attempts: Attempts, until deadline: ContinuousClock.Instant, _ quota: RetryQuota,
        _ progress: inout Progress
    ) throws(AWSError) -> Duration {
        if attempts == .one || attempts == .untilTimeout && error.isTimeout { throw error }
        guard let delay = delay(after: error, attempt: progress.attempt, corrected: &progress.corrected) else {
            throw error
        }
        // No wait that outlasts the deadline.
        guard runtime.now().advanced(by: delay) < deadline else { throw error }
        guard let withdrawn = quota.withdraw(for: error) else { throw error }
        progress.cost = withdrawn
        progress.attempt += 1
        return delay
    }

    /// - Returns: `nil` when there is no point in another attempt.
    private func delay(after fault: AWSError, attempt: Int, corrected: inout Set<AWSError.Kind>) -> Duration? {
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        switch fault.kind {
        case .throttled:
            return settings.throttled.delay(afterAttempt: attempt, using: &generator).map { raised($0, by: fault) }
        case .transient:
            return settings.transient.delay(afterAttempt: attempt, using: &generator).map { raised($0, by: fault) }
        case .staleCredentials, .skewedClock:
            return corrected.insert(fault.kind).inserted ? .zero : nil
        case .refused, .noCredentials, .cancelled:
            return nil
        }
    }

    /// `Retry-After` may lengthen our delay, by five seconds at most.
    private func raised(_ delay: Duration, by fault: AWSError) -> Duration {
        guard let asked = fault.retryAfter else { return delay }
        return max(delay, min(asked, delay + .seconds(5)))
    }

    private func isAwake(after delay: Duration) async -> Bool {
        if delay == .zero { return true }
        do {
            try await runtime.pause(delay)
            return true
        } catch {
            return false
        }
    }
}

/// Full-jitter exponential backoff: attempt `n` waits between 0 and `min(cap, base × 2ⁿ)`.
///
/// Source: AWS Architecture Blog, "Exponential Backoff and Jitter".
package struct Backoff: Sendable, Equatable {
    package var base: Duration
    package var cap: Duration
    package var maximumAttempts: Int

    package init(base: Duration = .milliseconds(50), cap: Duration = .seconds(20), maximumAttempts: Int = 3) {
        self.base = base
        self.cap = cap
        self.maximumAttempts = maximumAttempts
    }

    /// - Returns: How long to wait, or `nil` when no attempt is left.
    package func delay(afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration? {
        guard attempt + 1 < maximumAttempts else { return nil }
        return min(cap, base * (1 << min(attempt, 20))) * Double.random(in: 0...1, using: &generator)
    }
}

/// Keeps a client from hammering a service that is down: retries cost tokens, successes bring them back.
///
/// Shared by the calls of one client, and kept by its actor.
/// Source: botocore 1.44.5, `retries/standard.py`.
final class RetryQuota {
    private let capacity: Int
    private(set) var tokens: Int

    init(capacity: Int = 500) {
        self.capacity = capacity
        self.tokens = capacity
    }

    /// - Returns: what a retry after this fault costs, already taken; `nil` when it is not there.
    func withdraw(for fault: AWSError) -> Int? {
        let cost = fault.kind == .throttled ? 5 : 14
        guard tokens >= cost else { return nil }
        tokens -= cost
        return cost
    }

    /// - Parameter cost: of the retry that succeeded; 0 for a success at the first attempt.
    func refund(_ cost: Int) {
        tokens = min(capacity, tokens + max(cost, 1))
    }
}

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
