import Foundation

/// A thread that runs what it is given, one after the other, for ever.
///
/// As a task executor it keeps tests that block away from the threads that every other test shares.
final class OwnThread: TaskExecutor, @unchecked Sendable {
    // Under the condition's lock.
    private var work: [() -> Void] = []
    private let condition = NSCondition()

    init() { Thread { [self] in serve() }.start() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        add { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs `body` there, and waits for it; not to be called from there.
    func run(_ body: @escaping () -> pid_t) -> pid_t {
        let done = DispatchSemaphore(value: 0)
        var result: pid_t = 0
        add {
            result = body()
            done.signal()
        }
        done.wait()
        return result
    }

    private func add(_ body: @escaping () -> Void) {
        condition.withLock {
            work.append(body)
            condition.signal()
        }
    }

    private func serve() {
        while true {
            let next = condition.withLock {
                while work.isEmpty { condition.wait() }
                return work.removeFirst()
            }
            next()
        }
    }
}
