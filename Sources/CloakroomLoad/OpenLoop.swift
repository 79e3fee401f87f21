package import CloakroomLoop

/// The time of a run: that of the system, or one of a test's own.
@LoopActor
package protocol LoadClock: AnyObject {
    /// In nanoseconds.
    var now: UInt64 { get }

    /// Runs the body once the instant has come; a call replaces the one before.
    func wake(at instant: UInt64, _ body: @escaping @LoopActor () -> Void)
}

/// Where requests go.
@LoopActor
package protocol LoadTarget: AnyObject {
    /// How many connections it has at most, each with one request at a time: requests beyond wait for one, in their order.
    /// `nil` where none has to wait.
    var connections: Int? { get }

    /// Sends a request without waiting for others, and tells once what became of it, within a time limit of its own.
    func send(_ request: Int, then completion: @escaping @LoopActor (LoadOutcome) -> Void)
}

/// Sends the requests of a schedule at their times, whether or not earlier ones are back.
///
/// A response's latency counts from when its request was to be sent: a server that stalls would else be measured by the few
/// requests that were waiting for it, and not by all those that a generator held back meanwhile (coordinated omission).
/// No request has a task of its own, which would cost more than the rest.
@LoopActor
package final class OpenLoop {
    private let schedule: LoadSchedule
    private let mix: RequestMix
    private let target: any LoadTarget
    private let clock: any LoadClock
    private let maximumOpen: Int
    package let tally: LoadTally
    private var start: UInt64 = 0
    private var next = 0
    private var isStopped = false
    private var done: (@LoopActor () -> Void)?
    /// Between which the loop hands out responses: they are not to wait for many requests that have become due at once.
    private static let requestsAtOnce = 64

    package init(
        _ schedule: LoadSchedule, _ mix: RequestMix, target: any LoadTarget, clock: any LoadClock, maximumOpen: Int
    ) {
        self.schedule = schedule
        self.mix = mix
        self.target = target
        self.clock = clock
        self.maximumOpen = maximumOpen
        tally = LoadTally(schedule, mix, connections: target.connections)
    }

    /// Returns when every request that was sent has its outcome.
    package func run() async {
        await withCheckedContinuation { continuation in
            begin { continuation.resume() }
        }
    }

    /// - Parameter done: runs when every request that was sent has its outcome.
    package func begin(then done: @escaping @LoopActor () -> Void) {
        self.done = done
        start = clock.now
        turn()
    }

    /// Sends no more; those that are open are still waited for.
    package func stop() {
        guard !isStopped else { return }
        isStopped = true
        tally.wasStopped = next < schedule.requests
        endIfDone()
    }

    /// Seconds since the run began.
    package var elapsed: Double { start == 0 ? 0 : Double(clock.now - start) / 1e9 }

    private func turn() {
        var sent = 0
        while !isStopped, next < schedule.requests {
            let (offset, phase) = schedule.instant(of: next)
            let due = start + offset
            let now = clock.now
            guard due <= now, sent < Self.requestsAtOnce else {
                return clock.wake(at: max(due, now)) { [weak self] in self?.turn() }
            }
            issue(LoadTally.Sent(share: mix.share(of: next), phase: phase, offset: offset, lateness: now - due))
            sent += 1
        }
        endIfDone()
    }

    private func issue(_ sent: LoadTally.Sent) {
        let number = next
        next += 1
        guard tally.open < maximumOpen else { return tally.leaveOut(sent) }
        tally.begin(sent)
        target.send(number) { [self] outcome in
            tally.end(sent, outcome, at: clock.now - start)
            endIfDone()
        }
    }

    private func endIfDone() {
        guard isStopped || next == schedule.requests, tally.open == 0, let done = done.take() else { return }
        done()
    }
}
