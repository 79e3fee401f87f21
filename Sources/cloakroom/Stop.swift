import Loop

/// The wish to stop, from a signal or from the end of the supervisor.
@LoopActor
final class Stop {
    private(set) var isWanted = false
    private var waiting: CheckedContinuation<Void, Never>?

    func now() {
        isWanted = true
        waiting?.resume()
        waiting = nil
    }

    /// - Parameter lifeline: the read end of a pipe nobody writes to; readable when its other end is gone.
    func whenEnded(_ lifeline: Int32) {
        Reactor.shared.watch(lifeline, for: [.hangup, .readable, .edge]) { [weak self] _ in self?.now() }
    }

    func wait() async {
        guard !isWanted else { return }
        await withCheckedContinuation { waiting = $0 }
    }
}
