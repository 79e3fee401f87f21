import Foundation

extension Cloakroom {
    /// Ends what was made of this, and forgets the credentials, the images that were shown, and files that were made of photos to
    /// be sent: see <doc:SigningOut>.
    ///
    /// ``Outbox/unsent()`` says beforehand what there is to decide about. Call this while the user's token is still valid, and
    /// remove the token afterwards. What is kept waits for the same user at the same endpoint. Backups that are in progress
    /// are the app's own tasks: cancel them first. Work of the ``schedule`` may call this, and is the last then. Afterwards no
    /// part of this sends a request with a token or with credentials, also when another user has signed in. Once it has begun,
    /// this makes no parts any more. The token provider may call this, as when a session was revoked.
    ///
    /// Where an app has gone back to an earlier version for a time, there may be two queues: both are ended, with one
    /// time for sending both, and the report is that of both.
    ///
    /// A call meanwhile with the same choice waits for this one; with another choice it has its turn afterwards, and with
    /// ``OutboxSignOut/keepingUnsent`` the sending ends. When the tasks of
    /// all callers are cancelled, nothing more is sent, and the rest is done all the same.
    ///
    /// - Parameter carrier: that of the queue, where this launch has not opened it: it ends what the system is sending.
    /// - Returns: when nothing is sent any more, and what became of the queue of uploads.
    /// - Throws: ``CloakroomError`` when what was unsent could not be read or removed, or the credentials could not be removed
    ///   from their store. All the rest is done then, too: call it again before the user counts as signed out; its report has what
    ///   the former did. And ``CloakroomError/Code/cancelled`` for a caller that has left it to others.
    @discardableResult
    public func signOut(
        _ unsent: OutboxSignOut, carrier: (any TransferCarrier)? = nil
    ) async throws -> OutboxSignOutReport {
        var joined = OutboxSignOutReport()
        while true {
            let (signOut, isJoined) = open.withLock { parts in
                if let signOut = parts.signOut {
                    if unsent == .keepingUnsent, signOut.unsent != unsent { parts.signOut?.isCutShort = true }
                    return (signOut, true)
                }
                let signOut = OpenParts.SignOut(
                    unsent: unsent, hasCarrier: carrier != nil, shared: SharedRun { await end(unsent, carrier) })
                parts.signOut = signOut
                return (signOut, false)
            }
            if signOut.shared.isCancelled {
                await signOut.shared.end()
                continue
            }
            await cutShort()
            // It waits for runs, and perhaps for the one that joins it.
            guard let report = await signOut.shared.value(waitsForEnd: !isJoined || CurrentRuns.isEmpty) else {
                throw CloakroomError.cancelled
            }
            await open.withLock { $0.signedOut }?.endOfRun()
            guard signOut.unsent == unsent else { continue }
            if carrier == nil || signOut.hasCarrier { return joined.followed(by: try report.get()) }
            joined = joined.followed(by: try report.get())
        }
    }

    /// Ends the sending of the sign-out in progress where that is wanted.
    private func cutShort() async {
        let outbox = open.withLock { $0.signOut?.isCutShort == true ? $0.signedOut : nil }
        await outbox?.endSending(because: CloakroomError(.cancelled, "Another sign-out keeps what is unsent"))
    }

    private func end(
        _ unsent: OutboxSignOut, _ carrier: (any TransferCarrier)?
    ) async -> Result<OutboxSignOutReport, any Error> {
        let parts = open.withLock { parts in
            let found = parts
            parts = OpenParts(isSignedOut: true)
            parts.signOut = found.signOut
            parts.signedOut = found.signedOut
            return found
        }
        defer { open.withLock { $0.signOut = nil } }
        await schedule.close()
        for renewals in parts.renewals { await renewals.cancel() }
        var report = OutboxSignOutReport()
        let failure = await endQueues(unsent, parts.outbox, carrier, &report)
        await tokens.signOut()
        let leftCredentials = await credentials.forget()
        await account.reading?.forget()
        for images in parts.images { await images.close() }
        // Also what earlier launches left: images, and files that were made of photos to be sent.
        try? ImageCacheFolder(in: configuration.cacheFolder, owner: owner).removeAll()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where SourceBackup.isFolder(name) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
        report = parts.report.followed(by: report)
        guard let failure = failure ?? leftCredentials else { return .success(report) }
        open.withLock { $0.report = report }
        return .failure(failure)
    }

    /// Ends the queue that this launch has opened, and those that earlier ones have left: two where an app has gone
    /// back to an earlier version.
    ///
    /// - Returns: why one could not be ended; the other one has been all the same.
    private func endQueues(
        _ unsent: OutboxSignOut, _ opened: Outbox?, _ carrier: (any TransferCarrier)?,
        _ report: inout OutboxSignOutReport
    ) async -> (any Error)? {
        let now = configuration.runtime.now
        let begin = now()
        var failure: (any Error)?
        if let opened {
            do { try await endQueue(opened, unsent, &report) } catch { failure = error }
        }
        let openedFolder = opened?.folder.url.deletingLastPathComponent()
        // One after the other, since a carrier belongs to one at a time.
        for folder in outboxPlace.all() where folder.path != openedFolder?.path {
            do {
                let outbox = try leftOutbox(in: folder, like: opened, carrier)
                try await endQueue(outbox, unsent.after(begin.duration(to: now())), &report)
            } catch {
                failure = failure ?? error
            }
        }
        // A transfer of this one may have called the sign-out, and has not ended then.
        if let opened { open.withLock { $0.signedOut = opened } }
        return failure
    }

    private func endQueue(
        _ outbox: Outbox, _ unsent: OutboxSignOut, _ report: inout OutboxSignOutReport
    ) async throws {
        open.withLock { $0.signedOut = outbox }
        await cutShort()
        var ended = OutboxSignOutReport()
        defer { report.add(ended) }
        try await outbox.signOut(unsent, &ended)
    }
}

extension OutboxSignOut {
    /// What is left of it after some time.
    fileprivate func after(_ time: Duration) -> Self {
        guard case .afterSending(let limit) = self else { return self }
        return .afterSending(within: max(.zero, limit - time))
    }
}

extension OutboxSignOutReport {
    /// Both in one.
    fileprivate func followed(by next: Self) -> Self {
        var both = next
        both.sent += sent
        both.removed = removed + next.removed
        both.stoppedBy = next.stoppedBy ?? stoppedBy
        return both
    }

    /// Adds that of another queue.
    fileprivate mutating func add(_ other: Self) {
        sent += other.sent
        kept = UnsentWork(
            items: kept.items + other.kept.items, bytes: kept.bytes + other.kept.bytes,
            failed: kept.failed + other.kept.failed)
        removed += other.removed
        stoppedBy = stoppedBy ?? other.stoppedBy
    }
}
