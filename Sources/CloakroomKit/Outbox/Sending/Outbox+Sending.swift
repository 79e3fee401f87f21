import CloakroomAWS
import Foundation

extension Outbox {
    /// One attempt at one item, with what follows from it.
    func send(_ row: OutboxRow) async {
        var row = row
        transfers.sent[row.id] = 0
        publish()
        var bytesSent: Int64 = 0
        do {
            let attempt = try await attempt(&row)
            if attempt == .sent { bytesSent = row.file.byteCount }
            if attempt != .gone { try await conclude(row) }
        } catch {
            settle(row, after: CloakroomError(of: error))
            bytesSent = max(bytesSent, transfers.sent[row.id] ?? 0)
        }
        // What the next one waits for has become less.
        if bytesSent < row.file.byteCount { pace(bytesSent - row.file.byteCount) }
        transfers.sent[row.id] = nil
        run?.active[row.id] = nil
        run?.signal.yield()
        publish()
    }

    /// What came of an attempt that did not fail.
    enum Attempt {
        /// There is no such item any more.
        case gone
        /// S3 has it, and was sent nothing of it.
        case storedBefore
        case sent
    }

    private func attempt(_ row: inout OutboxRow) async throws -> Attempt {
        try checkOpen()
        guard let current = try store.row(id: row.id), current.state == .waiting else { return .gone }
        row = current
        switch row.kind {
        case .photo: return try await sendPhoto(&row)
        case .asset:
            try await sendAsset(&row)
            return .sent
        }
    }

    /// S3 has it.
    private func conclude(_ row: OutboxRow) async throws {
        // The user has signed out meanwhile, and the next outbox may have the item.
        guard lock != nil else { return }
        var row = row
        switch row.kind {
        // One that is back after a failure of power is found in S3.
        case .photo: try store.remove([row.id], durability: .processEnd)
        case .asset:
            row.state = .uploaded
            row.transfer = nil
            row.error = nil
            row.failures = 0
            row.notBefore = now + Self.renewalInterval
            // Where it is must outlast the database, until the app has it.
            try folder.rewriteRecord(row)
            try store.update(row)
        }
        await onStep(.concluded)
        // An asset's are kept until the app has its URL: the object may expire before that.
        if row.kind == .photo { await folder.removeSent(row.id) }
        await onStep(.removed)
        run?.report.sent += 1
        run?.report.bytesSent += row.file.byteCount
        run?.consecutiveFailures = 0
        feed.itemsDone += 1
        feed.bytesDone += row.file.byteCount
    }

    /// S3 does not have it, or that is not known.
    private func settle(_ row: OutboxRow, after error: CloakroomError) {
        // It has called a sign-out, and the next outbox may have the item.
        guard lock != nil else { return }
        var row = row
        // One that was left to the carrier is waited for by the next run.
        if let id = row.transfer, !transfers.underWay.contains(id) { row.transfer = nil }
        // A token that was cancelled, or a transfer by the system: at once it would be the same again.
        let isInterrupted = error.code == .cancelled && !Task.isCancelled
        switch isInterrupted ? .wait(isSilent: true) : OutboxRetry(error, failures: row.failures) {
        case .unchanged: break
        case .wait(let isSilent):
            var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
            let begin = now
            row.waitsSince = begin
            row.notBefore = begin + OutboxRetry.wait(after: error, failures: row.failures, using: &generator)
            row.failures += 1
            row.error = isSilent ? nil : error
        case .fail:
            row.state = .failed
            row.error = error
            run?.report.failed += 1
        }
        noteFailure(error)
        // If it cannot be written, the next process finds the transfer begun, and its end unknown.
        do { try store.update(row) } catch { stop(error) }
    }

    /// Ends the run after a failure that others would share.
    private func noteFailure(_ error: CloakroomError) {
        switch error.reach {
        case .one: run?.consecutiveFailures = 0
        case .perhapsAll:
            run?.consecutiveFailures += 1
            if let run, run.consecutiveFailures >= OutboxRun.maximumConsecutiveFailures { stop(error) }
        case .all: stop(error)
        }
    }

    private func stop(_ error: CloakroomError) {
        if run?.report.stoppedBy == nil { run?.report.stoppedBy = error }
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when the bytes are not those that were added.
    func checkFile(_ row: inout OutboxRow) async throws {
        if folder.isUnchanged(row) { return }
        // Moved to another device, as by a backup of it: another date, and perhaps the same bytes.
        guard try await folder.hasSameBytes(row), let file = try? UploadFile(folder.file(row.id)) else {
            throw CloakroomError(.unreadableFile, "the outbox's copy is damaged or gone")
        }
        row.file.modified = file.version.modified
        try store.update(row)
    }

    /// A body, and as much time as it may take: each attempt has a minute, and the time that its bytes need at 4 KiB a
    /// second.
    func request(_ url: URL, _ fields: [(name: String, value: String)], _ row: OutboxRow) -> HTTPRequest {
        HTTPRequest(
            method: "PUT", url: url, fields: fields, body: .file(folder.file(row.id), 0..<row.file.byteCount),
            destination: .memory(maximumBytes: 64 << 10), timeout: .seconds(60 + row.file.byteCount / 4096),
            idleTimeout: .seconds(30))
    }
}
