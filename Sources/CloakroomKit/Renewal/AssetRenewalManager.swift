package import CloakroomAWS
public import Foundation

/// Renews the assets that are still in use: every 15 days, in batches of 100, when the app is launched.
///
/// ```swift
/// let renewals = AssetRenewalManager(
///     renewer: client, collector: database, store: try SQLiteRenewalStore(at: file, owner: owner),
///     recovery: recovery, baseURLs: try AssetBaseURLs([URL(string: "https://cdn.example.com")!]))
/// renewals.startRenewal()
/// ```
///
/// Only what the server called renewed is recorded as renewed, after each batch: the end of the process at any point costs
/// one batch that is sent again. There is one run at a time; a call during a run joins it.
public actor AssetRenewalManager {
    private let collector: any AssetRenewalURLCollector
    let baseURLs: AssetBaseURLs
    let settings: AssetRenewalSettings
    let renewer: any AssetRenewer
    let recovery: (any ExpiredAssetRecoveryHandler)?
    let progress: (@Sendable (RenewalProgress) -> Void)?
    let runtime: RuntimeDependencies
    let ledger: RenewalLedger
    private var run: Run?
    /// Of the run in progress.
    var current: RenewalWalk?

    private struct Run {
        let shared: SharedRun<RunResult>
        let isForced: Bool
    }

    struct RunResult: Sendable {
        var report: RenewalReport
        var renewedKeys: Set<KeyDigest>
    }

    /// - Parameters:
    ///   - renewer: such as a ``CloakroomClient``.
    ///   - recovery: receives assets whose object is gone; without it, they are in the report alone.
    ///   - baseURLs: where one's own objects are read.
    ///   - progress: called after each request, on the actor: it must return quickly.
    public init(
        renewer: any AssetRenewer, collector: any AssetRenewalURLCollector, store: any RenewalStore,
        recovery: (any ExpiredAssetRecoveryHandler)? = nil, baseURLs: AssetBaseURLs,
        settings: AssetRenewalSettings = AssetRenewalSettings(),
        progress: (@Sendable (RenewalProgress) -> Void)? = nil
    ) {
        self.init(
            renewer: renewer, collector: collector, store: store, recovery: recovery, baseURLs: baseURLs,
            settings: settings, progress: progress, runtime: RuntimeDependencies())
    }

    package init(
        renewer: any AssetRenewer, collector: any AssetRenewalURLCollector, store: any RenewalStore,
        recovery: (any ExpiredAssetRecoveryHandler)? = nil, baseURLs: AssetBaseURLs,
        settings: AssetRenewalSettings = AssetRenewalSettings(),
        progress: (@Sendable (RenewalProgress) -> Void)? = nil, runtime: RuntimeDependencies
    ) {
        self.renewer = renewer
        self.collector = collector
        self.recovery = recovery
        self.baseURLs = baseURLs
        self.settings = settings
        self.progress = progress
        self.runtime = runtime
        ledger = RenewalLedger(store: store)
    }

    /// Renews what is due; joins a run that is in progress.
    ///
    /// It does not throw: failures are in the report, and retried by a later run. A caller whose task is cancelled leaves the
    /// run to the others, with a report that says no more than that; when every caller's is, the run ends.
    @discardableResult
    public func renewIfNeeded() async -> RenewalReport {
        let running = await runningRun()
        return await join(running ?? start(isForced: false, without: [])).report
    }

    /// Renews every asset, whatever its dates, but those that a run in progress renews meanwhile; that one is waited for.
    ///
    /// `Retry-After` is honored all the same: more requests would get the same response.
    @discardableResult
    public func forceRenewal() async -> RenewalReport {
        var renewedMeanwhile: Set<KeyDigest> = []
        var running = await runningRun()
        while let run = running, !run.isForced {
            guard let result = await run.shared.value() else { return Self.left.report }
            renewedMeanwhile.formUnion(result.renewedKeys)
            running = await runningRun()
        }
        return await join(running ?? start(isForced: true, without: renewedMeanwhile)).report
    }

    /// Renews what is due, some time after this returned: for the launch of the app.
    public nonisolated func startRenewal() {
        Task.detached(priority: .utility) { await self.renewIfNeeded() }
    }

    /// Ends the run in progress, if there is one, and returns when it has ended. What it has recorded stays.
    ///
    /// Not to be awaited by what the run itself waits for, such as its recovery handler.
    public func cancel() async { await run?.shared.cancel() }

    /// When each asset that the collector names now is renewed next, by key.
    ///
    /// - Throws: what the collector or the store throws.
    public func schedule() async throws -> [AssetSchedule] {
        try await plan().schedule(by: settings, now: runtime.wallClock())
    }

    /// Notes that an asset was uploaded just now, so that its first renewal is not due at once.
    ///
    /// - Throws: ``CloakroomError``: code ``CloakroomError/Code/invalidRequest`` for a URL that has no asset key, and what
    ///   the store throws.
    public func recordUpload(of asset: RenewableAsset, expiration: Date? = nil) async throws {
        guard let key = asset.key(in: baseURLs) else {
            throw CloakroomError(.invalidRequest, "the asset's URL has no asset key")
        }
        var record = RenewalRecord(key: key)
        record.noteRenewal(at: runtime.wallClock(), expiration: expiration)
        try await ledger.store.save([record])
    }

    /// The run to join, if there is one. A cancelled run is awaited, not joined: it leaves keys unsent.
    private func runningRun() async -> Run? {
        while let run, run.shared.isCancelled { await run.shared.end() }
        return run
    }

    private func start(isForced: Bool, without done: Set<KeyDigest>) -> Run {
        let run = Run(
            shared: SharedRun { await self.perform(isForced: isForced, without: done) }, isForced: isForced)
        self.run = run
        return run
    }

    private func join(_ joined: Run) async -> RunResult { await joined.shared.value() ?? Self.left }

    /// Of a caller that has left the run to others.
    private static var left: RunResult {
        var report = RenewalReport()
        report.stop(.cancelled)
        return RunResult(report: report, renewedKeys: [])
    }

    /// How many wait for the run in progress.
    var callerCount: Int { run?.shared.callerCount ?? 0 }

    private func perform(isForced: Bool, without done: Set<KeyDigest>) async -> RunResult {
        // A finished run cannot be joined.
        defer { run = nil }
        let walk = RenewalWalk(isForced: isForced, without: done, in: baseURLs)
        current = walk
        defer { current = nil }
        do {
            await recovery?.resumeRecoveries()
            try await collector.renewableAssetBatches().forEach { batch in try await self.take(batch) }
            await send(walk)
            await forget(walk)
        } catch {
            // One record that cannot be read must not keep those before it from their renewal, run after run.
            if !Task.isCancelled { await send(walk) }
            walk.report.notSent += walk.pending.assetsByKey.count
            walk.report.stop(
                CloakroomError(of: error, otherwise: .storeFailed, "assets or their records could not be read"))
        }
        return RunResult(report: walk.report, renewedKeys: walk.renewed)
    }

    private func plan() async throws -> RenewalPlan {
        let assets = try await collector.renewableAssetBatches().all()
        return RenewalPlan(assets, in: baseURLs, records: try await ledger.records())
    }
}
