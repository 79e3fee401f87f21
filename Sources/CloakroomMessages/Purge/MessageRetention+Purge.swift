import CloakroomKit
import Foundation

/// Thrown by a test in the place of the end of the process.
package struct PurgeInterrupted: Error {
    package init() {}
}

extension MessageRetention {
    /// Removes what is over for certain: messages, their files, what handlers and caches have of them, and the keys that
    /// could open what is left of them on the disk.
    ///
    /// One at a time: a call during another one waits for that, and then does its own, as what it is for may have come when
    /// that one was past it. What it could not do the next one does: after the end of the process at any point, when the
    /// disk is full, or while a handler throws.
    ///
    /// A caller whose task is cancelled ends its own purge after the batch that is under way, and none that it waits for.
    ///
    /// - Throws: ``CloakroomError/Code/cancelled`` alone; other failures are in the report.
    @discardableResult
    public func purge() async throws -> PurgeReport {
        while let former = currentPurge {
            guard await former.resultUnlessCancelled() != nil else { throw CloakroomError.cancelled }
            if currentPurge == former { currentPurge = nil }
        }
        guard !Task.isCancelled else { throw CloakroomError.cancelled }
        let task = Task { try await performPurge() }
        currentPurge = task
        defer { if currentPurge == task { currentPurge = nil } }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func performPurge() async throws -> PurgeReport {
        var report = PurgeReport()
        do {
            try await removeMessages(&report)
        } catch let error as PurgeInterrupted {
            throw error
        } catch {
            report.stoppedBy = CloakroomError(of: error)
        }
        // Whatever came before: that rows cannot be deleted, or a handler throws, is no reason to keep keys.
        do {
            try await removeKeys(&report)
            while try await storage.pruneTombstones() {
                guard !Task.isCancelled else { throw CloakroomError.cancelled }
                await Task.yield()
            }
        } catch let error as PurgeInterrupted {
            throw error
        } catch {
            report.stoppedBy = report.stoppedBy ?? CloakroomError(of: error)
        }
        if report.stoppedBy?.code == .cancelled { throw CloakroomError.cancelled }
        return report
    }

    private func removeMessages(_ report: inout PurgeReport) async throws {
        let times = try await clock().trusted
        try await storage.writeDeletions()
        // Before any handler: one that throws must not delay them. What is in memory need not wait for room, either.
        var failure: (any Error)?
        for conversation in try await storage.pendingCuts() {
            do { try await applyCuts(in: conversation) } catch { failure = failure ?? error }
        }
        await storage.endNotes(await memory.removeDue(times).map(\.reference))
        report.releaseCount += try await removeNotes()
        if let failure { throw failure }
        // What is over by a time that is not written down yet goes once it is.
        if let failure = await storage.clockFailure { throw failure }
        var size = BatchSize()
        while let batch = try await storage.nextBatch(
            limit: size.count, needsReferences: !handlers.isEmpty)
        {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let step = storage.step
            try step(.handled(.before))
            for handler in handlers { try await handler.remove(batch.messages) }
            try step(.handled(.after))
            try step(.recoveriesRemoved(.before))
            try await removeRecoveries(Set(batch.endedKeys))
            try step(.recoveriesRemoved(.after))
            try step(.filesRemoved(.before))
            try await storage.removeFiles(of: batch)
            for key in batch.cachedKeys { try await cache?.removeCachedContent(forKey: key) }
            try step(.filesRemoved(.after))
            try step(.releasesJournaled(.before))
            report.releaseCount += try await storage.journalReleases(of: batch)
            try step(.releasesJournaled(.after))
            try step(.rowsRemoved(.before))
            size.adapt(to: try await storage.removeRows(of: batch, journalingNext: size.count))
            try step(.rowsRemoved(.after))
            report.purgedCount += batch.count
            // Those who read messages need not wait for the whole purge.
            await Task.yield()
        }
        try await storage.removeMovedAside()
    }

    /// What an interrupted recovery of an image knows of it.
    private func removeRecoveries(_ keys: Set<String>) async throws {
        guard let recoveries, !keys.isEmpty else { return }
        for record in try await recoveries.records() where keys.contains(record.key) {
            try await recoveries.remove(record.asset)
        }
    }

    private func removeKeys(_ report: inout PurgeReport) async throws {
        var failure: (any Error)?
        // Those of now: a peer's changes have others retire meanwhile, which is for the next purge.
        let retiring = await storage.retiring
        do {
            while try await storage.emptyRetiringKeys(retiring) {
                guard !Task.isCancelled else { throw CloakroomError.cancelled }
                await Task.yield()
            }
        } catch {
            // What cannot be sealed anew keeps its key, and no other one.
            failure = error
        }
        try await storage.dropKeys()
        report.isRotationPending = try await storage.rotateKeys(now: runtime.now())
        if let failure { throw failure }
        guard try await storage.isPurgeOpen() else { return }
        report.isCheckpointPending = try await !storage.emptyLog()
        if report.isComplete { try await storage.closePurge() }
    }

    /// Removes what handlers, caches and the bucket have of messages that were in memory, also in former processes.
    ///
    /// - Returns: how many images are recorded for the bucket to delete.
    @discardableResult
    func removeNotes() async throws -> Int {
        var count = 0
        while var ended = try await storage.nextEndedNotes() {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let messages = ended.notes.map(\.reference)
            if !messages.isEmpty { for handler in handlers { try await handler.remove(messages) } }
            try await storage.endImages(of: &ended)
            try await removeRecoveries(Set(ended.endedKeys))
            for key in ended.cachedKeys { try await cache?.removeCachedContent(forKey: key) }
            count += try await storage.finish(ended)
            await Task.yield()
        }
        return count
    }

    /// Sends what purges have recorded to the releaser, also what has failed a short time ago: call it when there is a network
    /// again. ``run()`` does it when something is due.
    ///
    /// An image waits until its messages have ended for the other participants, too: what this user deletes from this device
    /// they still have.
    ///
    /// - Returns: how many images were released; 0 without a releaser.
    /// - Throws: ``CloakroomError`` of the first request that failed; what was not sent is sent by a later call.
    @discardableResult
    public func releaseAssets() async throws -> Int { try await releaseAssets(retry: true) }

    /// - Parameter retry: also what has failed a short time ago.
    func releaseAssets(retry: Bool) async throws -> Int {
        guard let releaser else { return 0 }
        var count = 0
        var last: String?
        while true {
            let now = try await clock().device
            let images = try await storage.releases(now: now, retry: retry, after: last, limit: 100)
            guard !images.isEmpty else { return count }
            do {
                let results = try await releaser.release(images)
                try await storage.finish(images, results, now: now)
                count += results.count { if case .released = $0.outcome { true } else { false } }
            } catch {
                try await storage.finish(images, [], now: now)
                throw CloakroomError(of: error)
            }
            last = images.last?.objectKey
        }
    }
}

/// How many messages are purged together: as many as keep writers waiting for some 10 milliseconds, as at times the disk
/// takes several times as long. Above 2,048 there are hardly fewer pages to write in all.
struct BatchSize {
    private(set) var count = 256

    mutating func adapt(to duration: Duration) {
        let change = min(max(Duration.milliseconds(10) / max(duration, .milliseconds(1)), 0.5), 1.5)
        count = min(max(Int(Double(count) * change), 64), 2048)
    }
}
