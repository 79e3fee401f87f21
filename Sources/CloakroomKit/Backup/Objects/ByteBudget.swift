/// How many bytes of bodies may be in memory at once, over all transfers; first come, first served.
actor ByteBudget {
    private struct Waiter {
        let id: UInt64
        let bytes: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    let capacity: Int
    private(set) var free: Int
    var waiterCount: Int { waiters.count }
    private var waiters: [Waiter] = []
    private var lastID: UInt64 = 0

    /// - Parameter capacity: in bytes.
    init(capacity: Int) {
        self.capacity = capacity
        free = capacity
    }

    /// Waits until there is room for so many bytes, and keeps it until the body is done.
    ///
    /// - Parameter bytes: more than the capacity counts as the capacity.
    /// - Throws: `CancellationError` for a task that was cancelled while it waited.
    nonisolated func spending<Value>(_ bytes: Int, _ body: () async throws -> Value) async throws -> Value {
        let bytes = min(max(bytes, 0), capacity)
        try await reserve(bytes)
        do {
            let value = try await body()
            await release(bytes)
            return value
        } catch {
            await release(bytes)
            throw error
        }
    }

    private func reserve(_ bytes: Int) async throws {
        try Task.checkCancellation()
        guard !waiters.isEmpty || bytes > free else {
            free -= bytes
            return
        }
        lastID += 1
        let id = lastID
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                waiters.append(Waiter(id: id, bytes: bytes, continuation: $0))
            }
        } onCancel: {
            // Comes after the waiter is in line: this actor is not left before.
            Task { await self.leave(id) }
        }
    }

    private func release(_ bytes: Int) {
        free += bytes
        while let first = waiters.first, first.bytes <= free {
            waiters.removeFirst()
            free -= first.bytes
            first.continuation.resume()
        }
    }

    /// A waiter that is not in line any more has got its bytes.
    private func leave(_ id: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume(throwing: CancellationError())
        // Those behind it may want less.
        release(0)
    }
}
