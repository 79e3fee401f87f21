import CloakroomKit

/// A call that has the right to write until it ends.
struct PendingWrite: Sendable {
    /// `nil` for one that is short.
    var cancel: (@Sendable () -> Void)?
    var wait: @Sendable () async -> Void
}

/// What needs the lock from its beginning to its end: ``TieredPhotoStore/releaseLock()`` waits for it.
extension TieredPhotoStore {
    /// Has the lock stay until `body` has ended.
    ///
    /// - Parameter isLong: it is cancelled when the lock is to be given up, and goes on at the next call.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeInUse``, ``CloakroomError/Code/cancelled``, and what `body`
    ///   throws.
    func writing<Value: Sendable>(
        isLong: Bool, _ body: @escaping @Sendable (isolated TieredPhotoStore) async throws -> Value
    ) async throws -> Value {
        try requireLock()
        lastWrite += 1
        let number = lastWrite
        let task = Task<Value, any Error> {
            // Here, and not when the caller goes on: who waits for the task finds it gone.
            defer { self.writes[number] = nil }
            return try await body(self)
        }
        writes[number] = PendingWrite(
            cancel: isLong ? { @Sendable in task.cancel() } : nil, wait: { @Sendable in _ = await task.result })
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        do { return try result.get() } catch { throw CloakroomError(of: error) }
    }

    /// Whether something is under way that writes.
    var isWorking: Bool { currentRun != nil || !writes.isEmpty || !fetches.isEmpty }

    /// Ends what is under way: photos that are being added are waited for, all else is cancelled first.
    func endWork() async {
        let (run, pending, downloads) = (currentRun?.shared, writes.values, fetches.values)
        waiters = []
        run?.beginCancelling()
        for write in pending { write.cancel?() }
        for download in downloads { download.task.cancel() }
        // In a task of its own: also a caller that is cancelled waits.
        if let run { await Task { _ = await run.waitForEnd() }.value }
        for write in pending { await write.wait() }
        for download in downloads { _ = await download.task.result }
    }
}
