import CloakroomCLinux

/// One timer that is exact to some microseconds, where those of ``EventPoller`` count in the milliseconds of `epoll_wait`.
///
/// Source: timerfd_create(2).
@LoopActor
package final class PreciseTimer {
    private let descriptor: Descriptor
    private var watch: EventPoller.Watch?

    /// - Parameter body: runs each time that the instant has come which was set last.
    /// - Throws: where the process may open no more descriptors.
    package init(_ body: @escaping @LoopActor () -> Void) throws(SystemError) {
        descriptor = try Descriptor(checking: cloakroom_timer())
        // An edge for each instant: nothing need be read.
        watch = EventPoller.shared.watch(descriptor.raw, for: [.readable, .edge]) { _ in body() }
    }

    isolated deinit { stop() }

    /// - Parameter instant: of ``Monotonic``; one that has passed has come.
    package func set(at instant: UInt64) {
        // 0 would take the timer down.
        let code = cloakroom_timer_set(descriptor.raw, max(1, instant))
        precondition(code == 0, "timerfd_settime: \(SystemError())")
    }

    /// After this, nothing runs any more.
    package func stop() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
    }
}
