extension Outbox {
    /// Ends this outbox; ``unsent()`` says beforehand what there is to decide about.
    ///
    /// What is kept waits for the same user at the same endpoint, whose next outbox in this folder goes on with it;
    /// another user's never sees it. Call it while the user's token is still valid, and forget the credentials afterwards.
    ///
    /// - Returns: when nothing is sent any more; every call afterwards fails.
    /// - Throws: ``CloakroomError`` when what was unsent could not be read or removed; nothing is sent then either.
    @discardableResult
    public func signOut(_ mode: OutboxSignOut) async throws -> OutboxSignOutReport {
        var report = OutboxSignOutReport()
        try await signOut(mode, &report)
        return report
    }

    /// - Parameter report: has what was done, also when this throws.
    func signOut(_ mode: OutboxSignOut, _ report: inout OutboxSignOutReport) async throws {
        guard isOpen else { throw Self.signedOut }
        if case .afterSending(let limit) = mode { await send(within: limit, &report) }
        let mustDiscard = mode == .discardingUnsent
        let rows = Result { () throws(CloakroomError) in mustDiscard ? try store.rows() : [] }
        let removed = (try? rows.get())?.filter { $0.state != .uploaded }.map(item) ?? []
        await close()
        defer {
            feed.finish()
            lock = nil
        }
        // What was stored before it could be cancelled is not removed.
        let all = try store.rows()
        if mustDiscard {
            let left = all.filter { $0.state != .uploaded }
            _ = try rows.get()
            // Before the rows, which need room on a full disk to be removed. Of what S3 has, the URLs stay for this user's next
            // outbox.
            let stored = Set(all.filter { $0.state == .uploaded }.map(\.id))
            let discarded = Result { () throws(CloakroomError) in try folder.discard(butRecordsOf: stored) }
            try store.remove(left.map(\.id))
            let ids = Set(left.map(\.itemID))
            report.removed = removed.filter { ids.contains($0.id) }
            try discarded.get()
        }
        report.kept = try store.unsent()
        if report.kept.isEmpty { folder.reserve.release() }
    }

    /// Sends, and waits for what is retried, until nothing is left to wait for or the time is over.
    private func send(within limit: Duration, _ report: inout OutboxSignOutReport) async {
        let timer = runtime.spawn { [runtime] in
            guard (try? await runtime.sleep(limit)) != nil else { return }
            await self.endSending(because: CloakroomError(.timedOut, "The time for sending was over"))
        }
        while true {
            let sent = await run()
            report.sent += sent.sent
            report.stoppedBy = sent.stoppedBy
            guard feed.endOfSending == nil, let next = sent.nextAttempt,
                sent.stoppedBy.map({ $0.reach == .perhapsAll }) ?? true
            else { break }
            await idle(for: .seconds(max(1, next.timeIntervalSince1970 - now)), isPause: true)
        }
        timer.cancel()
        guard let end = feed.endOfSending, (try? store.unsent())?.isEmpty != true else { return }
        report.stoppedBy = end
    }

    func endSending(because reason: CloakroomError) async {
        feed.endOfSending = feed.endOfSending ?? reason
        feed.wakeUp()
        await run?.shared.cancel()
    }

    /// Waits for the end of a run that a sign-out within it has cancelled; a caller within it does not wait.
    func endOfRun() async { await run?.shared.end() }

    /// Ends every transfer, also those that an earlier process began.
    private func close() async {
        isClosing = true
        await run?.shared.cancel()
        // A run that calls this has not ended, and all its transfers have now but the one that calls it.
        await cancelAll()
        await cancelCarried(transferPrefix)
        transfers.listener?.cancel()
    }
}
