/// Holds whoever comes until it is opened; a task that is cancelled is let out at once, with `false`.
actor Gate {
    private var isOpen: Bool
    private var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    private var lastVisitor = 0

    init(isOpen: Bool = false) { self.isOpen = isOpen }

    func open() {
        isOpen = true
        for continuation in waiting.values { continuation.resume(returning: true) }
        waiting = [:]
    }

    /// - Returns: whether the gate is open; `false` for a cancelled task.
    func pass() async -> Bool {
        lastVisitor += 1
        let visitor = lastVisitor
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: false)
                } else if isOpen {
                    continuation.resume(returning: true)
                } else {
                    waiting[visitor] = continuation
                }
            }
        } onCancel: {
            Task { await turnAway(visitor) }
        }
    }

    private func turnAway(_ visitor: Int) { waiting.removeValue(forKey: visitor)?.resume(returning: false) }
}
