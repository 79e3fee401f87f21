/// Holds those who come until it is opened; a task that is cancelled goes on at once, with `false`.
package actor Gate {
    private struct Visitor {
        let number: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private var isOpen: Bool
    /// Who may go on although it is closed.
    private var passes = 0
    private var waiting: [Visitor] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    private var lastVisitor = 0

    package init(isOpen: Bool = false) { self.isOpen = isOpen }

    /// - Returns: whether it was let go on; `false` for a cancelled task.
    @discardableResult
    package func pass() async -> Bool {
        lastVisitor += 1
        let number = lastVisitor
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume(returning: false) }
                if isOpen { return continuation.resume(returning: true) }
                if passes > 0 {
                    passes -= 1
                    return continuation.resume(returning: true)
                }
                waiting.append(Visitor(number: number, continuation: continuation))
                for watcher in watchers where watcher.count <= waiting.count { watcher.continuation.resume() }
                watchers.removeAll { $0.count <= waiting.count }
            }
        } onCancel: {
            Task { await turnAway(number) }
        }
    }

    /// Returns when so many wait.
    package func arrival(of count: Int = 1) async {
        if waiting.count < count { await withCheckedContinuation { watchers.append((count, $0)) } }
    }

    package func open() {
        isOpen = true
        for visitor in waiting { visitor.continuation.resume(returning: true) }
        waiting = []
    }

    /// Lets the one go on that waits longest, or the next one.
    package func letOnePass() {
        if waiting.isEmpty { passes += 1 } else { waiting.removeFirst().continuation.resume(returning: true) }
    }

    /// Lets the one go on that came last, once so many wait.
    package func letLastPass(of count: Int) async {
        await arrival(of: count)
        waiting.popLast()?.continuation.resume(returning: true)
    }

    private func turnAway(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }
}
