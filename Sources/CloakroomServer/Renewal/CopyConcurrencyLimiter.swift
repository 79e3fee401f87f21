package import CloakroomAWS
package import CloakroomLoop

/// How many copies this process has on the way at once: additive increase, multiplicative decrease.
///
/// It is told of every attempt at S3. As many successes as are allowed at once allow one more, up to the setting;
/// "slow down" halves what is allowed, once for all copies that were on the way when it was halved.
@LoopActor
package final class CopyConcurrencyLimiter {
    private let maximum: Double
    private let metrics: Metrics
    private var allowed: Double
    private var lastDecrease: ContinuousClock.Instant?

    /// - Parameter maximum: also what is allowed at first.
    package init(maximum: Int, metrics: Metrics) {
        precondition(maximum > 0)
        self.maximum = Double(maximum)
        self.metrics = metrics
        allowed = self.maximum
        metrics.allowsCopies(maximum)
    }

    /// At least one.
    package var current: Int { Int(allowed) }

    package func observe(_ attempt: Attempt, now: @autoclosure () -> ContinuousClock.Instant = .now) {
        guard attempt.service == .s3 else { return }
        guard let fault = attempt.fault else {
            if allowed < maximum { set(min(maximum, allowed + 1 / allowed)) }
            return
        }
        guard fault.kind == .throttled else { return }
        let now = now()
        if let lastDecrease, now - attempt.duration < lastDecrease { return }
        lastDecrease = now
        set(max(1, allowed / 2))
    }

    private func set(_ value: Double) {
        let before = current
        allowed = value
        if current != before { metrics.allowsCopies(current) }
    }
}
