import CloakroomLoop

/// The wish to stop, from a signal or from the end of the supervisor.
@LoopActor
final class StopRequest {
    private(set) var isRequested = false
    private var waiting: CheckedContinuation<Void, Never>?

    func request() {
        isRequested = true
        waiting?.resume()
        waiting = nil
    }

    /// - Parameter lifeline: the read end of a pipe without writes; readable when its other end is gone.
    func whenEnded(_ lifeline: Int32) {
        EventPoller.shared.watch(lifeline, for: [.hangup, .readable, .edge]) { [weak self] _ in self?.request() }
    }

    func wait() async {
        guard !isRequested else { return }
        await withCheckedContinuation { waiting = $0 }
    }
}
