import CloakroomLoop

/// A pause between two rounds, which news ends: also news that came during the round before it.
@LoopActor
final class InterruptiblePause {
    private var isInterrupted = false
    private var sleeping: CheckedContinuation<Void, Never>?

    func interrupt() {
        isInterrupted = true
        sleeping?.resume()
        sleeping = nil
    }

    func wait(_ pause: Duration) async {
        if !isInterrupted {
            let alarm = EventPoller.shared.schedule(after: pause) { [weak self] in self?.interrupt() }
            await withCheckedContinuation { sleeping = $0 }
            EventPoller.shared.cancel(alarm)
        }
        isInterrupted = false
    }
}
