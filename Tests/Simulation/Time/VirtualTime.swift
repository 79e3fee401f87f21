@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import CloakroomSimulationSystem

/// Runs every task that is not the loop's, and moves the clock of the process when nothing else is left to do.
///
/// The loop of the production code drives all: where it would wait in `epoll_wait` for a descriptor, ``turn(until:)`` runs
/// jobs that are ready, in an order drawn by the seed, or lets the time pass to the next timer, its own or the loop's.
final class VirtualTime: TaskExecutor, SerialExecutor, SchedulingExecutor, MainExecutor, @unchecked Sendable {
    // All of it on the one thread of the process.
    static let shared = VirtualTime()

    private struct Timer {
        let instant: UInt64
        let number: UInt64
        let job: UnownedJob
    }

    private var ready: [UnownedJob] = []
    /// A heap: each is no later than those at twice its place.
    private var timers: [Timer] = []
    private var number: UInt64 = 0
    private(set) var jobs = 0
    /// What sleeps.
    var sleeping: Int { timers.count }

    /// Nanoseconds since 1970.
    static var now: UInt64 { simulation_now() }

    /// Takes over what the process has, before its first task.
    static func begin(seed: UInt64) {
        simulation_seed(seed)
        simulation_on_wait { VirtualTime.shared.turn(until: $0) }
    }

    // MARK: Executor

    func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C) {
        guard let delay = delay as? Duration else { preconditionFailure("a clock without seconds") }
        let (seconds, attoseconds) = delay.components
        let nanoseconds =
            seconds >= 0 ? UInt64(seconds) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000 : 0
        number += 1
        push(Timer(instant: Self.now + nanoseconds, number: number, job: UnownedJob(job)))
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
        enqueue(job, after: clock.now.duration(to: instant), tolerance: tolerance, clock: clock)
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    func checkIsolated() {}
    func run() throws {}
    func runUntil(_ condition: () -> Bool) throws {}
    func stop() {}

    // MARK: Turns

    private static let jobsPerTurn = 64

    /// - Parameter due: when the loop's next timer is; `UInt64.max` without one.
    private func turn(until due: UInt64) {
        guard ready.isEmpty else { return runReady() }
        let next = min(due, timers.first?.instant ?? .max)
        guard next < .max else {
            Finding.end("nothing is left to do, and no timer runs: everything waits for something")
        }
        simulation_set_now(max(Self.now, next))
        while let timer = timers.first, timer.instant <= Self.now {
            ready.append(timer.job)
            popTimer()
        }
    }

    /// Threads of a real process would take them in any order.
    private func runReady() {
        let (serial, task) = (asUnownedSerialExecutor(), asUnownedTaskExecutor())
        for _ in 0..<Self.jobsPerTurn where !ready.isEmpty {
            let index = Int(simulation_random() % UInt64(ready.count))
            ready.swapAt(index, ready.count - 1)
            jobs += 1
            ready.removeLast().runSynchronously(isolatedTo: serial, taskExecutor: task)
        }
    }

    private func push(_ timer: Timer) {
        timers.append(timer)
        var index = timers.count - 1
        while index > 0, isEarlier(index, (index - 1) / 2) {
            timers.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func popTimer() {
        timers.swapAt(0, timers.count - 1)
        timers.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < timers.count && isEarlier(child, least) {
                least = child
            }
            guard least != index else { return }
            timers.swapAt(index, least)
            index = least
        }
    }

    private func isEarlier(_ one: Int, _ other: Int) -> Bool {
        (timers[one].instant, timers[one].number) < (timers[other].instant, timers[other].number)
    }
}

struct VirtualExecutors: ExecutorFactory {
    static var mainExecutor: any MainExecutor { VirtualTime.shared }
    static var defaultExecutor: any TaskExecutor { VirtualTime.shared }
}
