import CloakroomLoop

/// A pause between two rounds, which news ends: also news that came during the round before it.
@LoopActor
final class InterruptiblePause {
    private var isInterrupted = false
    private var sleeping: CheckedContinuation<Void, Never>?

    func interrupt() {
        isInterrupted = true
        resume()
    }

    /// - Returns: whether news has ended it.
    @discardableResult
    func wait(_ pause: Duration) async -> Bool {
        if !isInterrupted {
            let alarm = EventPoller.shared.schedule(after: pause) { [weak self] in self?.resume() }
            await withCheckedContinuation { sleeping = $0 }
            EventPoller.shared.cancel(alarm)
        }
        defer { isInterrupted = false }
        return isInterrupted
    }

    private func resume() {
        sleeping?.resume()
        sleeping = nil
    }
}
