import Foundation
import Synchronization

/// Everything that Swift's runtime would run on its threads, run one after the other on the thread that says so.
///
/// The order is the one in which it became ready, so a program that starts the same tasks and lets them go on in the same
/// order runs the same way each time. Sleeping is left to the system's timers: nothing here waits for one.
final class SerialJobs: SerialExecutor {
    private let ready = Mutex<[UnownedJob]>([])

    /// The one that the process runs by, once ``install()`` was called.
    static let shared = SerialJobs()

    func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

    func enqueue(_ job: UnownedJob) { ready.withLock { $0.append(job) } }

    /// Runs what is ready, and what becomes ready by that.
    func runUntilIdle() {
        while true {
            let jobs = ready.withLock { ready in
                defer { ready = [] }
                return ready
            }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// Makes ``shared`` the executor of all tasks and actors of this process that have none of their own.
    static func install() throws {
        guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else { throw NoHook() }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in SerialJobs.shared.enqueue(job) }
    }

    struct NoHook: Error {}

    // As the runtime declares it: https://github.com/swiftlang/swift/blob/main/include/swift/Runtime/Concurrency.h
    private typealias Hook = @convention(thin) (UnownedJob, UnsafeRawPointer) -> Void
}
