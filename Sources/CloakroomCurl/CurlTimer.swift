import CloakroomLoop

/// libcurl's one timer on the loop.
///
/// libcurl puts it off with nearly every request that ends. So it is not taken down for a later one: when it goes off too
/// early, it is set again for what is left.
@LoopActor
final class CurlTimer {
    private let act: @LoopActor () -> Void
    /// When libcurl wants to be called, in nanoseconds; `nil` for never.
    private var deadline: UInt64?
    private var alarm: (timer: TimerID, deadline: UInt64)?

    init(act: @escaping @LoopActor () -> Void) { self.act = act }

    /// - Parameter milliseconds: from now; `nil` for never.
    func set(_ milliseconds: Int?) {
        guard let milliseconds else {
            deadline = nil
            return
        }
        let deadline = Monotonic.now &+ UInt64(milliseconds) &* 1_000_000
        self.deadline = deadline
        if let alarm {
            guard deadline < alarm.deadline else { return }
            EventPoller.shared.cancel(alarm.timer)
        }
        arm(for: deadline, in: .milliseconds(milliseconds))
    }

    /// After this, nothing is called any more.
    func stop() {
        if let alarm { EventPoller.shared.cancel(alarm.timer) }
        alarm = nil
        deadline = nil
    }

    private func arm(for deadline: UInt64, in delay: Duration) {
        alarm = (EventPoller.shared.schedule(after: delay) { [weak self] in self?.goOff() }, deadline)
    }

    private func goOff() {
        alarm = nil
        guard let deadline else { return }
        let now = Monotonic.now
        guard now >= deadline else { return arm(for: deadline, in: .nanoseconds(Int64(deadline - now))) }
        self.deadline = nil
        act()
    }
}
