import Foundation

/// A run that several callers of one actor wait for.
///
/// A caller whose task is cancelled leaves it to the others. When the last one leaves, the run is cancelled, and that caller
/// waits for its end. A cancelled run is not to be joined: a caller that comes meanwhile waits for its end, and begins another.
///
/// What the run itself calls does not wait for it: neither would end.
package final class SharedRun<Value: Sendable>: Sendable {
    private let task: Task<Value, Never>
    private let callers = Locked(0)
    private let id: UUID

    package init(_ work: @escaping @Sendable () async -> Value) {
        let id = UUID()
        self.id = id
        task = Task { await CurrentRuns.with(id) { await work() } }
    }

    /// Whether the caller is part of the run.
    package var isCurrent: Bool { CurrentRuns.contains(id) }

    /// Joins the run.
    ///
    /// - Parameter waitsForEnd: whether the last caller to leave waits; not for one that the run itself may wait for.
    /// - Returns: what came of it; `nil` for a caller that has left it to others, or is part of it.
    package func value(waitsForEnd: Bool = true) async -> Value? {
        if isCurrent { return nil }
        callers.withLock { $0 += 1 }
        let isLast = Locked(false)
        let result = await withTaskCancellationHandler {
            await task.resultUnlessCancelled()
        } onCancel: {
            // At once, so that the run begins nothing more.
            let count = callers.withLock { count in
                count -= 1
                return count
            }
            guard count == 0 else { return }
            isLast.withLock { $0 = true }
            task.cancel()
        }
        if case .success(let value)? = result { return value }
        return isLast.withLock { $0 } && waitsForEnd ? await task.value : nil
    }

    /// How many wait for it.
    package var callerCount: Int { callers.withLock { $0 } }
    /// Whether a caller has to wait for its end, and to begin another.
    package var isCancelled: Bool { task.isCancelled && !isCurrent }

    /// Cancels it, whatever its callers, and waits for its end.
    package func cancel() async {
        beginCancelling()
        await end()
    }

    package func beginCancelling() { task.cancel() }

    /// Waits for its end; what is part of it does not.
    package func end() async {
        if !isCurrent { _ = await task.value }
    }

    /// Waits for its end without joining it, so without keeping it going.
    ///
    /// Tasks that it has begun wait, too: none that it waits for may call this.
    ///
    /// - Returns: whether it has ended; `false` for a caller whose task is cancelled, which waits no longer.
    package func waitForEnd() async -> Bool { await task.resultUnlessCancelled() != nil }
}

extension Task {
    /// Waits for its end, but not longer than until the caller's own task is cancelled.
    ///
    /// - Returns: `nil` for a caller that waits no longer: this task goes on.
    package func resultUnlessCancelled() async -> Result<Success, Failure>? {
        let (results, waiting) = AsyncStream.makeStream(of: Result<Success, Failure>.self)
        Task<Void, Never> {
            waiting.yield(await self.result)
            waiting.finish()
        }
        for await result in results { return result }
        // The caller's task is cancelled: nothing else ends the loop.
        return nil
    }
}

/// The runs that the task is part of.
package enum CurrentRuns {
    private static let ids = TaskLocal<Set<UUID>>(wrappedValue: [])

    static var isEmpty: Bool { ids.get().isEmpty }

    fileprivate static func contains(_ id: UUID) -> Bool { ids.get().contains(id) }

    /// For what callers of several runs share, and none of them is.
    static func none<Value>(_ work: () async -> Value) async -> Value { await ids.withValue([]) { await work() } }

    /// For what tells a caller of the run something: what that begins may join the run.
    package static func none<Value>(_ work: () -> Value) -> Value { ids.withValue([]) { work() } }

    fileprivate static func with<Value>(_ id: UUID, _ work: () async -> Value) async -> Value {
        await ids.withValue(ids.get().union([id])) { await work() }
    }
}
