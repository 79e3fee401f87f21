import CloakroomCLinux
import Synchronization

/// One thread that runs Swift's jobs and waits in `epoll` between them.
///
/// It is both a serial executor (of ``LoopActor``) and a task executor (SE-0417), so that actors, child tasks and
/// nonisolated functions of a task started with its preference stay on the one thread.
package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // `local` and `status` belong to the loop's thread; the rest is immutable, atomic or behind the mutex.
    private var local = JobQueue()
    private var status: Int32?
    private let remote = Mutex<[UnownedJob]>([])
    private let thread = Atomic<UInt>(0)
    private let wake: Descriptor

    package init() {
        wake = Descriptor(owning: eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)))
        precondition(wake.raw >= 0, "eventfd: \(SystemError())")
    }

    /// Whether the caller runs on the loop's thread.
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == cloakroom_thread() }

    package func preconditionIsCurrent() { precondition(isCurrent, "not on the loop's thread") }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            local.append(job)
        } else {
            let first = remote.withLock { jobs in
                jobs.append(job)
                return jobs.count == 1
            }
            if first { signal() }
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() { preconditionIsCurrent() }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Running

    /// Takes over the calling thread. `start` runs first, on the loop.
    func runUntilStopped(_ start: @LoopActor () -> Void) -> Int32 {
        thread.store(cloakroom_thread(), ordering: .relaxed)
        LoopActor.assumeIsolated {
            EventPoller.shared.watch(wake.raw, for: .readable) { [self] _ in drainSignal() }
            start()
        }
        while status == nil {
            runJobs()
            guard status == nil else { break }
            let waits = local.isEmpty
            LoopActor.assumeIsolated { EventPoller.shared.poll(mayWait: waits) }
            takeRemoteJobs()
        }
        return status ?? 0
    }

    /// Lets ``runUntilStopped(_:)`` return; on the loop only.
    func stop(_ status: Int32) {
        preconditionIsCurrent()
        self.status = status
    }

    /// Between two looks at the descriptors: some ten milliseconds of requests. In that time no connection is accepted, and
    /// a full backlog turns clients away.
    private static let jobsPerTurn = 256

    /// Runs jobs and what they put off to the end of the turn until neither is left, within a bound that keeps
    /// descriptors from starving.
    private func runJobs() {
        var budget = Self.jobsPerTurn
        let (serial, task) = unsafe (asUnownedSerialExecutor(), asUnownedTaskExecutor())
        repeat {
            while budget > 0, let job = local.popFirst() {
                unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task)
                budget -= 1
            }
            LoopActor.assumeIsolated { EventPoller.shared.runTurnEnd() }
        } while budget > 0 && !local.isEmpty && status == nil
    }

    private func takeRemoteJobs() {
        let jobs = remote.withLock { jobs in
            guard !jobs.isEmpty else { return [UnownedJob]() }
            defer { jobs.removeAll(keepingCapacity: true) }
            return jobs
        }
        for job in jobs { local.append(job) }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = unsafe write(wake.raw, &one, MemoryLayout<UInt64>.size)
    }

    private func drainSignal() {
        var count: UInt64 = 0
        _ = unsafe read(wake.raw, &count, MemoryLayout<UInt64>.size)
    }
}

/// First in, first out, without moving what is left for each.
private struct JobQueue {
    private var jobs: ContiguousArray<UnownedJob> = []
    private var head = 0

    var isEmpty: Bool { head == jobs.count }

    mutating func append(_ job: UnownedJob) {
        // A queue that is never empty grows by what has been taken out.
        if head > 1024, head > jobs.count / 2 {
            jobs.removeFirst(head)
            head = 0
        }
        jobs.append(job)
    }

    mutating func popFirst() -> UnownedJob? {
        guard head < jobs.count else { return nil }
        defer {
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                head = 0
            }
        }
        return jobs[head]
    }
}

/// To the worker what `MainActor` is to an app: everything marked with it runs on the event loop's one thread.
///
/// One process has one loop (see ``EventLoop``), so the compiler can prove what a lock would have to guard.
@globalActor
package actor LoopActor {
    package static let shared = LoopActor()

    package nonisolated let loop = EventLoop()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Runs the loop on the calling thread until `body` has returned.
    ///
    /// - Returns: what `body` returned.
    package static func run(_ body: @escaping @LoopActor @Sendable () async -> Int32) -> Int32 {
        shared.loop.runUntilStopped {
            spawn {
                let status = await body()
                shared.loop.stop(status)
            }
        }
    }

    /// Starts a task that never leaves the loop: `Task {}` would run its nonisolated parts elsewhere.
    @discardableResult
    package static func spawn<Value: Sendable>(
        _ body: @escaping @LoopActor @Sendable () async -> Value
    ) -> Task<Value, Never> {
        Task(executorPreference: shared.loop, operation: body)
    }

    /// For callbacks of C libraries, which the loop calls on its own thread but which carry no isolation.
    package static func assumeIsolated<T>(_ body: @LoopActor () throws -> T) rethrows -> T {
        shared.loop.preconditionIsCurrent()
        return try withoutActuallyEscaping(body) { body in
            // The thread was checked above; the cast drops the annotation and nothing else.
            try unsafe unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }
}

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
