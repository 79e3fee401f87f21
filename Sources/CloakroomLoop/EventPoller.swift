import CloakroomCLinux

/// What the loop waits for: descriptors, timers, and work put off to the end of the turn.
@LoopActor
@safe package final class EventPoller {
    package static let shared = EventPoller()

    /// What a descriptor is watched for, or has become (`epoll_ctl(2)`).
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt32
        package nonisolated init(rawValue: UInt32) { self.rawValue = rawValue }

        package nonisolated static let readable = Readiness(rawValue: EPOLLIN.rawValue)
        package nonisolated static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
        /// The peer closed its end, or both ends are closed; the latter is reported even when not asked for, and so is
        /// `error`. Either bit means it: ask with `isDisjoint`.
        package nonisolated static let hangup = Readiness(rawValue: EPOLLRDHUP.rawValue | EPOLLHUP.rawValue)
        package nonisolated static let error = Readiness(rawValue: EPOLLERR.rawValue)
        /// Report a change once instead of a state again and again.
        package nonisolated static let edge = Readiness(rawValue: EPOLLET.rawValue)
    }

    /// Names one watch; stale after ``unwatch(_:)``.
    package struct Watch: Sendable, Hashable {
        fileprivate let slot: UInt32
        fileprivate let generation: UInt32
        fileprivate let descriptor: Int32
        fileprivate nonisolated var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
    }

    package typealias Handler = @LoopActor (Readiness) -> Void

    private struct Slot {
        var generation: UInt32 = 0
        var handler: Handler?
    }

    private static let eventsAtOnce = 256

    private let epoll: Descriptor
    private let events: UnsafeMutablePointer<epoll_event>
    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var urgent: [Watch] = []
    private var timers = TimerQueue()
    private var turnEnd: [@LoopActor () -> Void] = []

    private init() {
        epoll = Descriptor(owning: epoll_create1(Int32(EPOLL_CLOEXEC)))
        precondition(epoll.raw >= 0, "epoll_create1: \(SystemError())")
        unsafe events = .allocate(capacity: Self.eventsAtOnce)
    }

    // MARK: Descriptors

    /// - Parameter isUrgent: the handler is also called, as if ready, whenever there are more events than are fetched at
    ///   once. `epoll` reports one descriptor after the other: this one may be the last of ten thousand.
    @discardableResult
    package func watch(
        _ descriptor: Int32, for readiness: Readiness, isUrgent: Bool = false, _ handler: @escaping Handler
    ) -> Watch {
        let slot =
            free.popLast()
            ?? {
                slots.append(Slot())
                return UInt32(slots.count - 1)
            }()
        slots[Int(slot)].handler = handler
        let watch = Watch(slot: slot, generation: slots[Int(slot)].generation, descriptor: descriptor)
        let added = cloakroom_epoll_add(epoll.raw, descriptor, readiness.rawValue, watch.token)
        precondition(added == 0, "epoll_ctl ADD \(descriptor): \(SystemError())")
        if isUrgent { urgent.append(watch) }
        return watch
    }

    package func rewatch(_ watch: Watch, for readiness: Readiness) {
        guard isLive(watch) else { return }
        _ = cloakroom_epoll_mod(epoll.raw, watch.descriptor, readiness.rawValue, watch.token)
    }

    /// Call it before the descriptor is closed. Events already fetched for it are dropped.
    package func unwatch(_ watch: Watch) {
        guard isLive(watch) else { return }
        _ = cloakroom_epoll_del(epoll.raw, watch.descriptor)
        slots[Int(watch.slot)] = Slot(generation: watch.generation &+ 1, handler: nil)
        free.append(watch.slot)
        if !urgent.isEmpty { urgent.removeAll { $0 == watch } }
    }

    private func isLive(_ watch: Watch) -> Bool { slots[Int(watch.slot)].generation == watch.generation }

    // MARK: Time

    /// Runs `body` once, no earlier than `delay` from now.
    @discardableResult
    package func schedule(after delay: Duration, _ body: @escaping @LoopActor () -> Void) -> TimerID {
        timers.add(at: Monotonic.now &+ delay.nanoseconds, body)
    }

    package func cancel(_ timer: TimerID) { timers.cancel(timer) }

    /// Runs `body` when the jobs of this turn are done, before the loop waits: the place to write, once, what many
    /// jobs have gathered.
    package func atTurnEnd(_ body: @escaping @LoopActor () -> Void) { turnEnd.append(body) }

    func runTurnEnd() {
        guard !turnEnd.isEmpty else { return }
        let bodies = turnEnd
        turnEnd.removeAll(keepingCapacity: true)
        for body in bodies { body() }
    }

    // MARK: Waiting

    /// Waits for the first event, unless there is something to do already, and runs the handlers and timers due.
    func poll(mayWait: Bool) {
        let timeout = mayWait && turnEnd.isEmpty ? timers.millisecondsUntilNext(now: Monotonic.now) : 0
        let count = unsafe epoll_wait(epoll.raw, events, Int32(Self.eventsAtOnce), timeout)
        guard count > 0 else {
            precondition(count == 0 || cloakroom_errno() == EINTR, "epoll_wait: \(SystemError())")
            return runTimers()
        }
        for index in 0..<Int(count) {
            let event = unsafe events + index
            let token = unsafe cloakroom_event_token(event)
            let (slot, generation) = (Int(UInt32(truncatingIfNeeded: token)), UInt32(token >> 32))
            guard slots[slot].generation == generation, let handler = slots[slot].handler else { continue }
            unsafe handler(Readiness(rawValue: event.pointee.events))
        }
        if count == Self.eventsAtOnce { runUrgent() }
        runTimers()
    }

    private func runUrgent() {
        for watch in urgent where isLive(watch) { slots[Int(watch.slot)].handler?(.readable) }
    }

    private func runTimers() {
        guard !timers.isEmpty else { return }
        let now = Monotonic.now
        while let body = timers.popDue(now: now) { body() }
    }
}

/// The clock deadlines are kept in: never set, counts from an unspecified start.
package enum Monotonic {
    /// Nanoseconds.
    package static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension Duration {
    /// Whole milliseconds.
    package var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }

    /// Whole nanoseconds, at least zero, at most some 290 years.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 9_000_000_000 else { return 9_000_000_000_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
