/// Retries, within a deadline and within a quota.
struct Retrier: Sendable {
    let settings: RetrySettings
    let runtime: RuntimeDependencies

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
    ///   - try: is told the number of the attempt, from 0, and how long it may take.
    func run<Value>(
        until deadline: ContinuousClock.Instant, quota: RetryQuota, attempts: Attempts = .all, timeout: Duration? = nil,
        counts: inout AttemptCounts,
        try: (_ attempt: Int, _ timeout: Duration) async throws(AWSError) -> Value
    ) async throws(AWSError) -> Value {
        var corrected: Set<AWSError.Kind> = []
        var attempt = attempts == .afterTimeout ? 1 : 0
        var cost = 0
        while true {
            let left = runtime.now().duration(to: deadline)
            guard left > .zero else { throw AWSError(.transient, code: "DeadlineExceeded") }
            counts.attempts += 1
            do {
                let value = try await `try`(attempt, min(timeout ?? settings.timeout, left))
                quota.refund(cost)
                return value
            } catch {
                if error.kind == .throttled { counts.throttles += 1 }
                if attempts == .one || attempts == .untilTimeout && error.isTimeout { throw error }
                guard let delay = delay(after: error, attempt: attempt, corrected: &corrected) else { throw error }
                // No wait that outlasts the deadline.
                guard runtime.now().advanced(by: delay) < deadline else { throw error }
                guard let taken = quota.take(for: error) else { throw error }
                cost = taken
                guard await isAwake(after: delay) else { throw AWSError(.cancelled, code: "Cancelled") }
            }
            attempt += 1
        }
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
            try await runtime.sleep(delay)
            return true
        } catch {
            return false
        }
    }
}
