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
