package import CloakroomAWS
import CloakroomSQLite
public import Foundation

/// One schedule for all that an app does every now and then: renewals, backups, tiers, messages.
///
/// ```swift
/// let schedule = try WorkSchedule(at: file, owner: owner)
/// await schedule.add(
///     ScheduledWork("renewals", every: .seconds(86_400)) {
///         if let error = await renewals.renewIfNeeded().error { throw error }
///     })
/// await schedule.runDue()
/// ```
///
/// What is due is done one after the other, so that it does not compete for the network, and what was begun longest ago comes
/// first: work that takes all the time that the system gives is last the next time. When each was done is in a file, so that an
/// app that is launched ten times a day does daily work once.
///
/// On iOS give it to a `BackgroundWork`, and call ``runDue()`` at launch; programs that the system lets run call ``run()``.
public actor WorkSchedule {
    private var file: RecordsFile
    private let runtime: RuntimeDependencies
    /// In the order in which it was added.
    private var works: [ScheduledWork] = []
    private var ongoing: SharedRun<[ScheduledWorkResult]>?
    private var isClosed = false
    /// What each ``run()`` sleeps in.
    private var sleeps: Set<Task<Void, Never>> = []

    /// - Parameters:
    ///   - file: in a folder that exists; two more come beside it, `-wal` and `-shm`. A damaged one is moved aside: then
    ///     everything is due.
    ///   - owner: who is signed in, and where; another owner's file is refused.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch``, ``CloakroomError/Code/laterVersion``,
    ///   ``CloakroomError/Code/diskFull`` or ``CloakroomError/Code/storeFailed``.
    public init(at file: URL, owner: StoreOwner) throws {
        try self.init(at: file, owner: owner, runtime: RuntimeDependencies())
    }

    package init(
        at file: URL, owner: StoreOwner, unnamedRecords: UnnamedRecords = .setAside, runtime: RuntimeDependencies
    ) throws {
        self.file = try RecordsFile(
            Self.kind, at: file, owner: owner, unnamedRecords: unnamedRecords, wallClock: runtime.wallClock)
        self.runtime = runtime
    }

    /// Replaces work of the same name; when that was done counts for this.
    public func add(_ work: ScheduledWork) {
        works.removeAll { $0.name == work.name }
        guard !isClosed else { return }
        works.append(work)
        for sleep in sleeps { sleep.cancel() }
    }

    /// Work of this name is not begun any more; one in progress ends by itself.
    public func remove(named name: String) { works.removeAll { $0.name == name } }

    /// When something is due next, now or later; `nil` without any work.
    ///
    /// - Throws: ``CloakroomError`` when the file cannot be read.
    public func nextDate() throws -> Date? {
        let now = runtime.wallClock()
        let records = try records()
        return works.map { record(of: $0, in: records).due(every: $0.interval, now: now) }.min().map { max($0, now) }
    }

    /// Does what is due, one after the other; a call meanwhile waits for the same.
    ///
    /// A caller whose task is cancelled leaves the rest to the others. When the last one is, the work in progress is cancelled,
    /// and no other is begun.
    ///
    /// - Returns: what came of each that was begun, in that order; nothing for a caller that has left it to others.
    @discardableResult
    public func runDue() async -> [ScheduledWorkResult] {
        while let ongoing, ongoing.isCancelled { await ongoing.end() }
        let run = ongoing ?? SharedRun { await self.performDue() }
        ongoing = run
        return await run.value() ?? []
    }

    /// Does what is due whenever it is, until the task is cancelled.
    ///
    /// The device's clock decides. That it was set is seen when the next work was due: what is due sooner, or later, by that
    /// is late by one interval at most.
    public func run() async {
        while !Task.isCancelled {
            await runDue()
            await sleepUntilDue()
        }
    }

    /// Cancels what is in progress, and returns when it has ended; for signing out. Work that calls it is cancelled, too, and not
    /// waited for.
    public func cancel() async { await ongoing?.cancel() }

    /// How many wait for what is in progress.
    var callerCount: Int { ongoing?.callerCount ?? 0 }

    /// The same for good: nothing is begun any more. Work that calls it goes on to its own end.
    func close() async {
        isClosed = true
        works = []
        if ongoing?.isCurrent != true { await cancel() }
    }

    // MARK: Doing

    private func performDue() async -> [ScheduledWorkResult] {
        defer { ongoing = nil }
        var results: [ScheduledWorkResult] = []
        for name in dueNames() where !Task.isCancelled {
            guard let work = works.first(where: { $0.name == name }) else { continue }
            results.append(await perform(work))
        }
        return results
    }

    /// Without a readable file everything is due: work that is done once more does no harm.
    private func dueNames() -> [String] {
        let now = runtime.wallClock()
        let records = (try? records()) ?? [:]
        return works.map { (name: $0.name, interval: $0.interval, record: record(of: $0, in: records)) }
            .filter { $0.record.due(every: $0.interval, now: now) <= now }
            .sorted { ($0.record.lastBegun ?? .distantPast) < ($1.record.lastBegun ?? .distantPast) }
            .map(\.name)
    }

    private func perform(_ work: ScheduledWork) async -> ScheduledWorkResult {
        var record = record(of: work, in: (try? records()) ?? [:])
        record.lastBegun = runtime.wallClock()
        // Before it is done: work that ends the process has been begun.
        try? save(record, of: work.name)
        var result = ScheduledWorkResult(name: work.name, error: nil)
        do {
            try await work.perform()
            if Task.isCancelled { result.error = .cancelled }
        } catch {
            result.error = Task.isCancelled ? .cancelled : CloakroomError(of: error)
        }
        switch result.error?.code {
        case nil:
            (record.failures, record.retry) = (0, nil)
            record.lastDone = runtime.wallClock()
        // That the time was over is not its fault.
        case .some(.cancelled): break
        default:
            record.failures += 1
            record.retry = result.error?.retryAfter.map { runtime.wallClock().addingTimeInterval($0 / .seconds(1)) }
        }
        do { try save(record, of: work.name) } catch { result.error = result.error ?? error }
        return result
    }

    private func sleepUntilDue() async {
        guard !Task.isCancelled else { return }
        let now = runtime.wallClock()
        let due = (try? nextDate()) ?? now.addingTimeInterval(3_600)
        // A minute at least: a file that cannot be written would keep everything due.
        let wait = max(60, due.timeIntervalSince(now))
        let runtime = runtime
        let sleep = Task { _ = try? await runtime.sleep(.seconds(wait)) }
        sleeps.insert(sleep)
        defer { sleeps.remove(sleep) }
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
    }

    // MARK: The file

    private func record(of work: ScheduledWork, in records: [String: WorkRecord]) -> WorkRecord {
        records[work.name] ?? WorkRecord()
    }

    private func records() throws(CloakroomError) -> [String: WorkRecord] {
        try file.perform { database throws(SQLiteError) in
            let rows = try database.rows("SELECT name, begun, done, failures, retry FROM work") { row in
                (
                    row.text(0),
                    WorkRecord(
                        lastBegun: row.realIfPresent(1).map(Date.init(timeIntervalSince1970:)),
                        lastDone: row.realIfPresent(2).map(Date.init(timeIntervalSince1970:)),
                        failures: Int(row.integer(3)),
                        retry: row.realIfPresent(4).map(Date.init(timeIntervalSince1970:)))
                )
            }
            return Dictionary(rows) { $1 }
        }
    }

    private func save(_ record: WorkRecord, of name: String) throws(CloakroomError) {
        try file.perform { database throws(SQLiteError) in
            try database.run(
                "INSERT OR REPLACE INTO work (name, begun, done, failures, retry) VALUES (?, ?, ?, ?, ?)",
                [
                    .text(name), SQLiteValue(record.lastBegun?.timeIntervalSince1970),
                    SQLiteValue(record.lastDone?.timeIntervalSince1970), SQLiteValue(record.failures),
                    SQLiteValue(record.retry?.timeIntervalSince1970),
                ])
        }
    }

    /// Dates are seconds since 1970.
    private static let kind = RecordsFile.Kind(
        name: "the schedule",
        migrations: [
            """
            CREATE TABLE work (name TEXT NOT NULL PRIMARY KEY, begun REAL, done REAL, failures INTEGER NOT NULL)
                WITHOUT ROWID;
            """,
            RecordsFile.ownerTable,
            "ALTER TABLE work ADD COLUMN retry REAL",
        ],
        tables: ["work"],
        // Records lost in a power failure cost doing it once more.
        durability: .processEnd)
}
