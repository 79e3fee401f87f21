import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// Uploads what is to be uploaded, and removes from the device what is due and proven.
    ///
    /// A call while a run is under way joins that one, and returns its report; a call while space is freed waits, and then
    /// begins one. A caller whose task is cancelled leaves the run to the others. When the last one leaves, the run ends
    /// after the photos that are under way; the next run goes on from there.
    ///
    /// - Parameter progress: photos that are done, of those that were there to do, also of a run that is joined.
    /// - Returns: what came of it, also of a run that was stopped. For a caller that has left it to others, or is cancelled
    ///   while it waits, ``TieringReport/stoppedBy`` is ``CloakroomError/Code/cancelled``, and nothing is counted.
    public func run(
        _ run: TieringRun = .background, progress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
    ) async -> TieringReport {
        // One that frees space ends when its one caller does, and a cancelled one leaves photos to the next.
        while let currentRun, currentRun.isFreeing || currentRun.shared.isCancelled {
            do { try await waitForRun() } catch { return cancelledReport }
        }
        return await joinOrBegin(isFreeing: false, progress) { store in
            await store.tier(run, rule: store.currentRule, isFreeing: false)
        }
    }

    private var currentRule: DueRule? { policy.rule(at: clock()) }

    /// Removes everything from the device that may leave it, however young.
    ///
    /// Pinned photos, open ones, those viewed within ``RetentionPolicy/daysAfterView`` days, and those without a thumbnail
    /// stay. Under ``RetentionPolicy/Period/forever`` it does nothing: the report says so.
    ///
    /// It waits for a run that is under way. Cancelling the task ends the wait at once, and the freeing after the photos that
    /// are under way.
    public func freeSpace(
        _ mode: FreeSpaceMode, progress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
    ) async -> TieringReport {
        // A run that is under way may leave out what the user wants to be gone.
        while mode == .perform, policy.period != .forever, currentRun != nil {
            do { try await waitForRun() } catch { return cancelledReport }
        }
        var report = TieringReport()
        guard policy.period != .forever else {
            report.stoppedBy = CloakroomError(
                .notAllowedNow, "the policy keeps all photos on the device; choose a period first")
            return report
        }
        let rule = RetentionPolicy.freeingRule(at: clock())
        if mode == .perform {
            return await joinOrBegin(isFreeing: true, progress) { store in
                await store.tier(.manual, rule: rule, isFreeing: true)
            }
        }
        do {
            report.alarms = try catalog.alarms()
            if let alarm = report.alarms.first { throw Self.stopped(by: alarm) }
            try writeViews()
            for row in try catalog.photos(try dueIDs(rule)) where !leases.isOpen(row.id) {
                guard let name = row.fileName, let status = StoreFolder.status(folder.photo(name)) else { continue }
                report.evicted += 1
                report.evictedBytes += StoreFolder.allocatedBytes(status)
            }
        } catch {
            report.stoppedBy = CloakroomError(of: error)
        }
        return report
    }

    static func stopped(by alarm: TierAlarm) -> CloakroomError {
        CloakroomError(.alarmRaised, "nothing leaves the device while there is an alarm: \(alarm.kind)")
    }

    private func joinOrBegin(
        isFreeing: Bool, _ progress: (@Sendable (Int, Int) -> Void)?,
        _ body: @escaping @Sendable (isolated TieredPhotoStore) async -> TieringReport
    ) async -> TieringReport {
        let joined = currentRun ?? CurrentRun(shared: SharedRun { await body(self) }, isFreeing: isFreeing)
        currentRun = joined
        lastCaller += 1
        let caller = lastCaller
        observers[caller] = progress
        defer { observers[caller] = nil }
        return await joined.shared.value() ?? cancelledReport
    }

    /// Tells the callers of the run that photos are done.
    func report(_ count: Int, of state: RunState) {
        let (done, total) = state.finish(count)
        for observer in observers.values { CurrentRuns.none { observer(done, total) } }
    }

    /// For a caller that has left its run to others, or waits no longer.
    private var cancelledReport: TieringReport {
        var report = TieringReport()
        report.stoppedBy = .cancelled
        report.alarms = (try? catalog.alarms()) ?? []
        return report
    }

    /// How many callers the run in progress has.
    var callerCount: Int { currentRun?.shared.callerCount ?? 0 }

    /// Waits for the end of the run in progress, without keeping it going; another one may have begun then.
    ///
    /// - Throws: ``CloakroomError/Code/cancelled``, also when the lock is to be given up: what waits must not take it again.
    func waitForRun() async throws(CloakroomError) {
        guard let currentRun else { return }
        lastCaller += 1
        let caller = lastCaller
        waiters.insert(caller)
        let hasEnded = await currentRun.shared.waitForEnd()
        let isWanted = waiters.remove(caller) != nil
        guard hasEnded, isWanted, !Task.isCancelled else { throw .cancelled }
    }

    private func tier(_ run: TieringRun, rule: DueRule?, isFreeing: Bool) async -> TieringReport {
        defer { currentRun = nil }
        var report = TieringReport()
        do {
            try requireLock()
            try checkPlace()
            try Self.endEvictions(catalog, folder)
            try await adoptOrphans()
            // In a catalog that is made anew, names of the inbox come after those of the snapshots.
            let isNew = try catalog.setting(.rebuild) != nil
            if !isNew { report.inboxFailure = try await emptyInbox() }
            await keepArrivals()
            if fetches.isEmpty { try Self.removeParts(catalog, folder) }
            try writeViews()
            try await makeMissingThumbnails()
            guard let state = try await begin(run, rule, isFreeing: isFreeing) else {
                report.alarms = try catalog.alarms()
                return report
            }
            state.report.inboxFailure = isNew ? try await emptyInbox() : report.inboxFailure
            do { try await work(state, rule) } catch {
                let error = CloakroomError(of: error)
                state.report.stoppedBy = error
                // Afterwards other photos are there than were proven.
                if error.code == .zoneDeleted || error.code == .encryptedDataReset {
                    try catalog.set(.lastLook, to: nil)
                }
            }
            do { try finish(state, rule) } catch {
                state.report.stoppedBy = state.report.stoppedBy ?? CloakroomError(of: error)
            }
            report = state.report
        } catch {
            report.stoppedBy = CloakroomError(of: error)
            report.alarms = (try? catalog.alarms()) ?? []
        }
        return report
    }

    // MARK: The run

    /// - Returns: `nil` when there is nothing to do: then no request is sent and nothing written.
    private func begin(_ run: TieringRun, _ rule: DueRule?, isFreeing: Bool) async throws -> RunState? {
        let now = clock()
        let needsRebuild = try catalog.setting(.rebuild) != nil
        let due = try rule.map { try dueIDs($0) } ?? []
        let isIdle =
            try !needsRebuild && due.isEmpty && uploadIDs(at: now).isEmpty && !hasDocumentsToWrite()
            && !isLookDue(at: now) && dueByBytes().isEmpty
        guard !isIdle else { return nil }
        if let refusal = run.refusal(of: await conditions.current()) {
            throw CloakroomError(.notAllowedNow, refusal)
        }
        let identity = try await checkedIdentity()
        if needsRebuild { _ = try await rebuildCatalog() }
        let lastSeen = try catalog.date(.lastSeen) ?? .distantPast
        if now > lastSeen { try catalog.set(.lastSeen, to: String(now.milliseconds)) }
        return RunState(run, isFreeing: isFreeing, identity, at: now, isClockBehind: now < lastSeen)
    }

    private func work(_ state: RunState, _ rule: DueRule?) async throws {
        if let failure = await tier.availability().failure { throw failure }
        var refusal: CloakroomError?
        if try isLookDue(at: state.date) {
            refusal = try await lookFailure(state)
        } else if try catalog.setting(.lastLook) == nil {
            // There is nothing to look at yet.
            try catalog.set(.lastLook, to: String(state.date.milliseconds))
        }
        let due = try rule.map { try dueIDs($0) } ?? []
        let excess = try dueByBytes(excluding: due)
        state.policy = policy
        let leaving = Set(due + excess)
        let uploads = try uploadIDs(at: state.date).filter { !leaving.contains($0) }
        state.total = uploads.count + leaving.count
        do {
            try await upload(uploads, state)
            try await evict(due + excess, Set(excess), rule, state, refusal)
        } catch {
            guard CloakroomError(of: error).code == .storageQuotaExceeded else { throw error }
            // Room is made by what the user removed, and there may be no other way to it. Why that fails must not hide that
            // there is no room: see ``StorageUsage/absentDevices``.
            try? await writeDocuments(state)
            throw error
        }
        try await writeDocuments(state)
    }

    /// Looks at what is in the tier.
    ///
    /// - Returns: why it could not be looked at now: then nothing leaves, and what is new is uploaded all the same.
    private func lookFailure(_ state: RunState) async throws -> CloakroomError? {
        do { try await look(state) } catch let error as CloakroomError {
            guard error.code == .timedOut || error.code == .tooManyRequests else { throw error }
            return error
        }
        return nil
    }

    private func upload(_ ids: [Int64], _ state: RunState) async throws {
        for batch in ids.batches() {
            let rows = try await upload(batch, state)
            try await prove(rows, state)
            report(batch.count, of: state)
        }
    }

    /// What keeps photos on the device keeps none of them from being uploaded.
    ///
    /// - Parameter refusal: why none leaves, where that is known.
    private func evict(
        _ ids: [Int64], _ excess: Set<Int64>, _ rule: DueRule?, _ state: RunState, _ refusal: CloakroomError?
    ) async throws {
        var refusal = refusal
        if refusal == nil, !ids.isEmpty { refusal = try catalog.alarms().first.map { Self.stopped(by: $0) } }
        for batch in ids.batches() {
            if refusal == nil {
                do {
                    try await evict(batch, excess, rule, state)
                    report(batch.count, of: state)
                    continue
                } catch let error as CloakroomError {
                    guard Self.refusals.contains(error.code) else { throw error }
                    refusal = error
                }
            }
            // What is proven stays due, and would be proven again in each run.
            let rows = try await upload(batch, state).filter { $0.state != .both }
            try await prove(rows, state)
            report(batch.count, of: state)
        }
        if let refusal {
            try await writeDocuments(state)
            throw refusal
        }
    }

    /// Of eviction alone: alarms, clocks, and documents of other devices that cannot be read.
    private static let refusals: Set<CloakroomError.Code> = [.alarmRaised, .clockWentBack, .storeFailed]

    private func writeDocuments(_ state: RunState) async throws {
        guard try hasDocumentsToWrite() else { return }
        try await publishSnapshot()
        let survey = try await surveyDevices()
        guard !survey.isDismissed else { return try await beginAnew(state) }
        state.report.deleted += try await advanceDeletions(survey)
    }

    /// Another device has given this one up: photos may be gone that this one relied on.
    func beginAnew(_ state: RunState) async throws {
        try catalog.raise(.dismissed, photoCount: 0, example: "", on: state.date)
        try await becomeNewDevice()
    }

    private func finish(_ state: RunState, _ rule: DueRule?) throws {
        // First: whatever fails after it, the report has them.
        state.report.alarms = try catalog.alarms()
        state.report.kept = try rule.map { try dueIDs($0).count } ?? 0
        try catalog.compact()
    }

    /// Looked at before each photo.
    func checkConditions(_ state: RunState) async throws(CloakroomError) {
        guard !Task.isCancelled else { throw .cancelled }
        if let refusal = state.rules.refusal(of: await conditions.current()) {
            throw CloakroomError(.notAllowedNow, refusal)
        }
    }
}

/// The run in progress.
struct CurrentRun: Sendable {
    let shared: SharedRun<TieringReport>
    /// Not joined: it ends when the user stops it.
    let isFreeing: Bool
}

extension Catalog {
    /// Makes an account the one whose photos these are.
    func adopt(_ identity: TierIdentity) throws(CloakroomError) {
        try transaction { database throws(SQLiteError) in
            try database.set(.identity, to: identity.description)
            // What another account has says nothing of this one.
            guard try Self.forgetProofs(except: identity, in: database) > 0 else { return }
            try database.run("UPDATE photo SET segment = NULL")
        }
    }

    /// Gives room back that deletions left, and ends the log.
    func compact() throws(CloakroomError) {
        try perform { database throws(SQLiteError) in
            // Each step frees one page.
            try database.forEach("PRAGMA incremental_vacuum(16384)") { _ in true }
            try database.forEach("PRAGMA wal_checkpoint(TRUNCATE)") { _ in true }
        }
    }
}
