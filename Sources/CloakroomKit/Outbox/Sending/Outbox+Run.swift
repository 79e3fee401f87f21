import Foundation

extension Outbox {
    /// Sends what is due, and what is added meanwhile, until nothing is left that can be sent now.
    ///
    /// A call during a run waits for that run. A caller whose task is cancelled leaves it to the others; when the last one
    /// leaves, the run ends soon, and a transfer that outlives the process is left to its carrier.
    ///
    /// - Returns: what the run did; for a caller that has left it to others, what it has done so far, with
    ///   ``OutboxReport/stoppedBy`` as ``CloakroomError/Code/cancelled``.
    @discardableResult
    public func run() async -> OutboxReport {
        while let run, run.shared.isCancelled { await run.shared.end() }
        if let report = await join().value() { return report }
        var report = run?.report ?? OutboxReport()
        report.stoppedBy = .cancelled
        complete(&report)
        return report
    }

    /// The same for at most so long, as when the system has launched the app for a short time; then it leaves, as by
    /// cancelling the task.
    @discardableResult
    public func run(within limit: Duration) async -> OutboxReport {
        let task = Task { await run() }
        let timer = runtime.spawn { [runtime] in
            if (try? await runtime.sleep(limit)) != nil { task.cancel() }
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Runs until the task is cancelled or the user signs out: again when something is added, is due, or after a minute.
    public func keepSending() async {
        while isOpen, !Task.isCancelled {
            let seen = feed.changes
            let report = await run()
            let wait = report.nextAttempt.map { $0.timeIntervalSince1970 - now } ?? 60
            await idle(for: .seconds(min(max(wait, 1), 60)), unless: seen)
        }
    }

    /// Ends what is being sent, and begins nothing until ``resume()``, also in later processes.
    ///
    /// - Returns: when nothing is sent any more.
    public func pause() async throws {
        try checkOpen()
        try store.setPaused(true)
        isPaused = true
        await cancelAll()
        await cancelCarried(transferPrefix)
        changed()
    }

    public func resume() throws {
        try checkOpen()
        try store.setPaused(false)
        isPaused = false
        changed()
    }

    private func join() -> SharedRun<OutboxReport> {
        if let run { return run.shared }
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let shared = SharedRun { await self.drain(signals) }
        run = OutboxRun(shared: shared, signal: signal)
        return shared
    }

    private func drain(_ signals: AsyncStream<Void>) async -> OutboxReport {
        publish()
        do {
            try checkOpen()
            // A sign-out that waits between two runs begins no other.
            if let end = feed.endOfSending { throw end }
            await folder.reserve.fill()
            try await attach()
            var seen: Int
            repeat {
                try await sendDue(signals)
                seen = feed.changes
                try await renewUploaded()
                // What was added meanwhile is for this run, which a call may have joined.
            } while feed.changes != seen && run?.report.stoppedBy == nil
            if Task.isCancelled { run?.report.stoppedBy = .cancelled }
        } catch {
            run?.report.stoppedBy = CloakroomError(of: error)
        }
        if run?.active.isEmpty == false {
            // The carrier goes on with what it has, where it can do that without the process.
            isDetaching = !isPaused && isOpen ? await carrier.outlivesProcess() : false
            await cancelAll()
            isDetaching = false
        }
        return finish()
    }

    private func sendDue(_ signals: AsyncStream<Void>) async throws {
        run?.signal.yield()
        for await _ in signals {
            let isPaced = try await fill()
            guard isPaced || run?.active.isEmpty == false else { return }
        }
    }

    private func finish() -> OutboxReport {
        var report = run?.report ?? OutboxReport()
        run?.signal.finish()
        run = nil
        complete(&report)
        publish()
        // What is added next is counted from the beginning.
        if report.unsent.items == report.unsent.failed { (feed.itemsDone, feed.bytesDone) = (0, 0) }
        return report
    }

    /// Says what is left.
    private func complete(_ report: inout OutboxReport) {
        do {
            report.unsent = try store.unsent()
            report.nextAttempt = try store.nextDate(after: now).map { Date(timeIntervalSince1970: $0) }
        } catch {
            report.stoppedBy = report.stoppedBy ?? error
        }
    }

    /// Begins as many as may be under way.
    ///
    /// - Returns: whether the next one waits for the sake of the rate.
    private func fill() async throws -> Bool {
        while let step = try await nextStep() {
            switch step {
            case .send(let row):
                // Another part of the app may have been here during the look at the conditions.
                guard run?.active[row.id] == nil, held[row.id] == nil else { continue }
                let (ready, go) = AsyncStream<Void>.makeStream()
                let transfer = SharedRun {
                    for await _ in ready {}
                    await self.send(row)
                }
                run?.active[row.id] = (transfer, row.file.byteCount)
                // Not before it is in the list.
                go.finish()
                pace(row.file.byteCount)
            case .wait: return true
            case .stop(let error):
                if run?.report.stoppedBy == nil { run?.report.stoppedBy = error }
                return false
            }
        }
        return false
    }

    private enum Step {
        case send(OutboxRow)
        /// For the sake of the rate.
        case wait
        case stop(CloakroomError)
    }

    /// - Returns: `nil` when nothing can begin before something else has ended.
    private func nextStep() async throws -> Step? {
        guard let run, !Task.isCancelled, run.report.stoppedBy == nil else { return nil }
        guard hasRoom(run) else { return nil }
        if isPaused { return .stop(CloakroomError(.paused, "The outbox is paused")) }
        try checkOpen()
        let excluded = Set(held.keys).union(run.active.keys)
        guard let row = try store.nextDue(at: now, excluding: excluded) else { return nil }
        // What is urgent does not wait for the rate.
        if let pacedUntil, runtime.now() < pacedUntil, row.priority != OutboxPriority.high.rawValue { return .wait }
        let conditions = await conditions.current()
        do throws(CloakroomError) { try options.conditions.check(conditions) } catch { return .stop(error) }
        // Once more, after the wait. Whether the item is still to be sent is looked at when that begins.
        guard let run = self.run, hasRoom(run), !isPaused, isOpen, !Task.isCancelled else { return nil }
        return .send(row)
    }

    private func hasRoom(_ run: OutboxRun) -> Bool {
        run.active.isEmpty || run.active.count < options.transfersAtOnce && run.bytesUnderWay < options.bytesAtOnce
    }

    /// Lets the next one wait for as long as so many bytes may take.
    ///
    /// - Parameter byteCount: less than 0 for bytes that it waits for, and that were not sent.
    func pace(_ byteCount: Int64) {
        guard let rate = options.bytesPerSecond, rate > 0 else { return }
        let now = runtime.now()
        let end = max(now, pacedUntil ?? now).advanced(by: .seconds(Double(byteCount) / Double(rate)))
        let wait = max(.zero, now.duration(to: end))
        pacedUntil = end
        _ = runtime.spawn { [weak self, runtime] in
            try? await runtime.pause(wait)
            await self?.run?.signal.yield()
        }
    }

    /// Waits, at most until something is added or due.
    ///
    /// - Parameters:
    ///   - isPause: whether it lasts until an item's next attempt.
    ///   - seen: does not wait when something has changed since.
    func idle(for duration: Duration, isPause: Bool = false, unless seen: Int? = nil) async {
        guard seen == nil || seen == feed.changes else { return }
        let (wakeUps, wakeUp) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let sleeper = feed.add(wakeUp)
        let timer = runtime.spawn { [runtime] in
            try? await (isPause ? runtime.pause : runtime.sleep)(duration)
            wakeUp.yield()
        }
        for await _ in wakeUps { break }
        timer.cancel()
        feed.removeSleeper(sleeper)
    }

    // MARK: Ending

    /// Ends what is being sent; what is cut short is sent again later.
    func cancelAll() async { await cancel(Array(run?.active.keys ?? [:].keys)) }

    /// - Returns: when they have ended, but one of them that calls this, such as by the app's token provider.
    func cancel(_ ids: [String]) async {
        let transfers = ids.compactMap { run?.active[$0]?.transfer }
        for transfer in transfers { transfer.beginCancelling() }
        for transfer in transfers { await transfer.end() }
    }

    /// Ends transfers that the carrier has had from earlier runs or processes.
    ///
    /// - Parameter prefix: of their identifiers.
    func cancelCarried(_ prefix: String) async {
        for id in await carrier.transfersUnderWay() where id.hasPrefix(prefix) { await carrier.cancel(id: id) }
    }

    func isUnderWay(_ id: String) -> Bool { run?.active[id] != nil }

    /// The run does not begin the item until ``endHold(_:)`` was called as often.
    func hold(_ id: String) { held[id, default: 0] += 1 }

    func endHold(_ id: String) {
        let count = held[id, default: 1] - 1
        held[id] = count > 0 ? count : nil
        // It was removed, or is to be sent after all.
        changed()
    }
}
