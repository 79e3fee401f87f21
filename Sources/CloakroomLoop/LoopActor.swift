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
