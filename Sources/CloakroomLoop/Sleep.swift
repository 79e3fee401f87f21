extension LoopActor {
    /// Waits on a timer of the loop: `Task.sleep` would come back through a thread of Dispatch.
    package static func sleep(for duration: Duration) async throws(CancellationError) {
        let sleeper = Sleeper()
        await withTaskCancellationHandler {
            await sleeper.sleep(for: duration)
        } onCancel: {
            spawn { sleeper.wake() }
        }
        if Task.isCancelled { throw CancellationError() }
    }
}

@LoopActor
private final class Sleeper {
    private var continuation: CheckedContinuation<Void, Never>?
    private var timer: TimerID?
    private var woken = false

    func sleep(for duration: Duration) async {
        guard !woken else { return }
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            timer = EventPoller.shared.schedule(after: duration) { self.wake() }
        }
    }

    func wake() {
        woken = true
        if let timer { EventPoller.shared.cancel(timer) }
        timer = nil
        continuation?.resume()
        continuation = nil
    }
}
