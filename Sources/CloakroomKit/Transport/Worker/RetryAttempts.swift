import CloakroomAWS

/// The attempts of one call: how many, how far apart, until when.
struct RetryAttempts {
    private let backoff: Backoff
    private let deadline: ContinuousClock.Instant
    private let runtime: RuntimeDependencies
    private var attempt = 0

    init(maximum: Int, until deadline: ContinuousClock.Instant, _ runtime: RuntimeDependencies) {
        backoff = Backoff(base: .milliseconds(250), cap: .seconds(10), maximumAttempts: maximum)
        self.deadline = deadline
        self.runtime = runtime
    }

    /// For the next attempt, and for those after it.
    func timeLeft() throws(CloakroomError) -> Duration {
        if Task.isCancelled { throw .cancelled }
        let left = runtime.now().duration(to: deadline)
        guard left > .zero else { throw .timedOut }
        return left
    }

    /// Waits for `Retry-After` and a jitter, so that refused clients do not all return at once.
    ///
    /// - Throws: the error itself when no attempt is left, or the wait would outlast the deadline: then at once.
    mutating func pause(after error: CloakroomError) async throws(CloakroomError) {
        var dice = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        guard let jitter = backoff.delay(afterAttempt: attempt, using: &dice) else { throw error }
        let delay = (error.retryAfter ?? .zero) + jitter
        guard runtime.now().advanced(by: delay) < deadline else { throw error }
        attempt += 1
        do { try await runtime.pause(delay) } catch { throw .cancelled }
    }
}
