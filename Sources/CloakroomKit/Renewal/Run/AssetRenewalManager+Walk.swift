import Foundation

extension AssetRenewalManager {
    /// Notes a batch of assets, and sends what is due when that has become enough.
    ///
    /// - Throws: what the store throws, and `CancellationError`, which ends the walk.
    func take(_ batch: [RenewableAsset]) async throws {
        guard let walk = current else { throw CancellationError() }
        // The first batch is noted even so, for the report says what was not sent.
        if walk.start != nil { try Task.checkCancellation() }
        let (new, late) = walk.sort(batch)
        let records = try await ledger.records(of: Array(new.keys))
        let now = walk.start ?? runtime.wallClock()
        walk.start = now
        for (key, assets) in new where !walk.done.contains(KeyDigest(key)) {
            guard walk.isForced || settings.dueDate(of: records[key], now: now) <= now else {
                walk.report.notDue += 1
                continue
            }
            for asset in assets { walk.pending.add(asset, key) }
            walk.pending.records[key] = records[key]
        }
        await hand(late, of: walk)
        if walk.pending.assetsByKey.count >= RenewalWalk.windowSize { await send(walk) }
    }

    /// Sends what is due so far.
    func send(_ walk: RenewalWalk) async {
        var plan = walk.pending
        walk.pending = RenewalPlan(in: baseURLs)
        let now = walk.start ?? runtime.wallClock()
        var queue = plan.queue(by: settings, now: now)
        guard queue.count > 0 else { return }
        do {
            if walk.report.end == .finished, let pauseEnd = try await ledger.pauseEnd(now: now) {
                walk.report.end = .postponed(until: pauseEnd)
                // A schedule that took this for done would come again a day later.
                walk.report.error = CloakroomError(
                    .tooManyRequests, "The server asked to wait",
                    retryAfter: .seconds(max(0, pauseEnd.timeIntervalSince(now))))
            }
        } catch {
            walk.report.stop(CloakroomError(of: error, otherwise: .storeFailed, "the store could not be read"))
        }
        await renew(&queue, of: &plan, in: walk)
    }

    /// Forgets records of what no asset shows any more, and that had no response for long.
    func forget(_ walk: RenewalWalk) async {
        let limit = (walk.start ?? runtime.wallClock()) - 90 * 86_400
        do {
            try await ledger.remove(
                ledger.keys(notHeardSince: limit).filter { !walk.seen.contains(KeyDigest($0)) })
        } catch {
            walk.report.error = CloakroomError(
                of: error, otherwise: .storeFailed, "old records could not be removed")
        }
    }

    /// More assets of objects that were sent before: recovery hears of these, too.
    private func hand(_ late: [(AssetKey, RenewableAsset)], of walk: RenewalWalk) async {
        guard let recovery else { return }
        let renewed = late.filter { walk.renewed.contains(KeyDigest($0.0)) }.map(\.1)
        if !renewed.isEmpty { await recovery.handleRenewedAssets(renewed, at: runtime.wallClock()) }
        for (key, asset) in late {
            guard !Task.isCancelled else { return }
            guard let date = walk.missing[KeyDigest(key)] else { continue }
            await recovery.handleExpiredAsset(asset, key: key.text, at: date)
        }
    }
}
