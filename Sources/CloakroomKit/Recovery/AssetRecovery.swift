package import CloakroomAWS
public import Foundation

/// Recovers images that have expired in S3: uploads them again from the app's cache, under a new URL.
///
/// Each step is in a journal before it begins, so the end of the process at any point loses nothing: at most one upload
/// stays behind, and expires. An asset whose bytes are not cached loses its URL only when S3 says on two days that the
/// object is gone.
///
/// ```swift
/// let recovery = AssetRecovery(
///     uploader: client, cache: imageCache, urls: database,
///     journal: try SQLiteRecoveryJournal(at: file, owner: owner), renewals: store)
/// ```
public actor AssetRecovery: ExpiredAssetRecoveryHandler {
    let uploader: any PresignedUploader & AssetRenewer
    let cache: any AssetCache
    let urls: any AssetURLWriter
    let journal: any RecoveryJournal
    let renewals: (any RenewalStore)?
    let runtime: RuntimeDependencies

    /// Until when no request is sent to the server, and why.
    var pause: (end: ContinuousClock.Instant, error: CloakroomError)?
    /// When this process first saw an asset missing, for a clock that is set meanwhile.
    var firstMissing: [RenewableAsset: ContinuousClock.Instant] = [:]
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - uploader: such as a ``CloakroomClient``. Its renewals show whether an interrupted upload was stored.
    ///   - journal: of this recovery alone, and of the user whose token the uploader sends.
    ///   - renewals: the store of the ``AssetRenewalManager``; it learns what was uploaded anew, and when, so that its first
    ///     renewal is not due at once.
    public init(
        uploader: any PresignedUploader & AssetRenewer, cache: any AssetCache, urls: any AssetURLWriter,
        journal: any RecoveryJournal, renewals: (any RenewalStore)? = nil
    ) {
        self.init(
            uploader: uploader, cache: cache, urls: urls, journal: journal, renewals: renewals,
            runtime: RuntimeDependencies())
    }

    package init(
        uploader: any PresignedUploader & AssetRenewer, cache: any AssetCache, urls: any AssetURLWriter,
        journal: any RecoveryJournal, renewals: (any RenewalStore)? = nil, runtime: RuntimeDependencies
    ) {
        self.uploader = uploader
        self.cache = cache
        self.urls = urls
        self.journal = journal
        self.renewals = renewals
        self.runtime = runtime
    }

    /// Continues what an earlier launch left unfinished.
    ///
    /// - Returns: what became of each asset in the journal.
    /// - Throws: ``CloakroomError`` when the journal cannot be read.
    @discardableResult
    public func resume() async throws -> [RecoveryReport] {
        try await inTurn { () async throws -> [RecoveryReport] in
            let records: [RecoveryRecord]
            do { records = try await journal.records() } catch { throw CloakroomError(of: error) }
            var reports: [RecoveryReport] = []
            for record in records {
                let outcome = await outcome { try await goOn(with: record, saidGoneAt: nil) }
                reports.append(RecoveryReport(asset: record.asset, key: record.key, outcome: outcome))
            }
            return reports
        }
    }

    public func resumeRecoveries() async {
        // What cannot be read now is reported by the first asset that needs it.
        _ = try? await resume()
    }

    @discardableResult
    public func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) async -> RecoveryOutcome {
        await inTurn {
            await outcome {
                let known = try await journal.record(of: asset)
                let new = RecoveryRecord(asset: asset, key: key, since: date, step: .expired)
                return try await goOn(with: known ?? new, saidGoneAt: date)
            }
        }
    }

    public func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) async {
        await inTurn {
            // A mark that cannot be removed now counts as a first check, which S3 did report once.
            guard let records = try? await journal.records(), !records.isEmpty else { return }
            let renewed = Set(assets)
            for record in records where renewed.contains(record.asset) && !record.isUploaded {
                _ = try? await journal.remove(record.asset)
            }
        }
    }

    private func outcome(of work: () async throws -> RecoveryOutcome) async -> RecoveryOutcome {
        do { return try await work() } catch { return .postponed(CloakroomError(of: error)) }
    }

    /// One at a time, in the order they came.
    private func inTurn<Result, Failure: Error>(
        _ work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if isTaken { await withCheckedContinuation { waiting.append($0) } }
        // The turn passes to the next waiter, so it stays taken.
        isTaken = true
        defer {
            if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
        }
        return try await work()
    }
}
