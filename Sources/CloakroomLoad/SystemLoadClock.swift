package import CloakroomLoop

/// The system's monotonic clock, exact to some microseconds.
@LoopActor
package final class SystemLoadClock: LoadClock {
    private var timer: PreciseTimer?
    private var body: (@LoopActor () -> Void)?

    package init() throws(SystemError) {
        timer = try PreciseTimer { [weak self] in self?.goOff() }
    }

    package var now: UInt64 { Monotonic.now }

    package func wake(at instant: UInt64, _ body: @escaping @LoopActor () -> Void) {
        self.body = body
        timer?.set(at: instant)
    }

    private func goOff() {
        guard let body = body.take() else { return }
        body()
    }
}
