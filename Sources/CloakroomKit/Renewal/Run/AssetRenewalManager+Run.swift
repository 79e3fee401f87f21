import Foundation

extension AssetRenewalManager {
    /// As many batches in a row may fail before the rest waits for another run.
    private static let maximumConsecutiveFailures = 3

    /// Sends batch after batch, and records what the server says of each before the next.
    ///
    /// - Returns: which keys were renewed.
    func renew(_ queue: inout RenewalQueue, of plan: inout RenewalPlan, _ report: inout RenewalReport) async
        -> Set<AssetKey>
    {
        let keyCount = queue.count
        var renewed: Set<AssetKey> = []
        var consecutiveFailures = 0
        while report.end == .finished, let batch = queue.next() {
            guard !Task.isCancelled else {
                report.stop(.cancelled)
                report.notSent += batch.count
                break
            }
            // What happens to an object happens after this; so it counts as renewed a little earlier than it was.
            let date = runtime.wallClock()
            report.requests += 1
            do {
                let response = BatchResponse(try await renewer.renewAssets(keys: batch.map(\.text)))
                consecutiveFailures = 0
                queue.grow()
                renewed.formUnion(await apply(response, for: batch, at: date, of: &plan, &report))
            } catch {
                let error = CloakroomError(of: error, "the renewal failed")
                await handle(error, for: batch, at: date, of: &plan, &report)
                consecutiveFailures += 1
                if consecutiveFailures == Self.maximumConsecutiveFailures, report.end == .finished {
                    report.end = .stopped
                }
            }
            progress?(
                RenewalProgress(
                    requestsDone: report.requests, requestsExpected: report.requests + queue.batchCount,
                    keysDone: keyCount - queue.count, keys: keyCount))
        }
        report.notSent += queue.count
        report.unrecorded = ledger.waitingCount
        await recover(plan, report.notFound.map(AssetKey.init))
        return renewed
    }

    private func apply(
        _ response: BatchResponse, for batch: [AssetKey], at date: Date, of plan: inout RenewalPlan,
        _ report: inout RenewalReport
    ) async -> [AssetKey] {
        var renewed: [AssetKey] = []
        for key in batch {
            let outcome = response[key]
            report.note(outcome, of: key)
            var record = plan.records[key] ?? RenewalRecord(key: key.text)
            record.note(outcome, at: date)
            plan.records[key] = record
            if case .renewed = outcome { renewed.append(key) }
        }
        await save(batch, of: plan, &report)
        if let recovery, !renewed.isEmpty {
            await recovery.handleRenewedAssets(renewed.flatMap { plan.assetsByKey[$0] ?? [] }, at: date)
        }
        return renewed
    }

    private func handle(
        _ error: CloakroomError, for batch: [AssetKey], at date: Date, of plan: inout RenewalPlan,
        _ report: inout RenewalReport
    ) async {
        report.error = error
        let action = BatchFailureAction(error)
        switch action {
        case .stop:
            report.end = .stopped
        case .pause(let duration, _):
            report.end = .postponed(until: await ledger.pause(for: duration, now: runtime.wallClock()))
        case .keysDoubtful, .networkDown: break
        }
        switch action {
        case .stop, .pause(_, keysDoubtful: false):
            report.notSent += batch.count
        case .networkDown:
            for key in batch { report.note(.failed(reason: error.code.rawValue), of: key) }
        case .keysDoubtful, .pause(_, keysDoubtful: true):
            for key in batch {
                report.note(.failed(reason: error.code.rawValue), of: key)
                plan.records[key, default: RenewalRecord(key: key.text)]
                    .noteFailure(.batchFailed, error.code.rawValue, at: date)
            }
            await save(batch, of: plan, &report)
        }
    }

    private func save(_ batch: [AssetKey], of plan: RenewalPlan, _ report: inout RenewalReport) async {
        do {
            try await ledger.save(batch.compactMap { plan.records[$0] })
        } catch {
            report.error = CloakroomError(of: error, otherwise: .storeFailed, "renewals could not be recorded")
        }
    }

    /// Runs after all renewals, because it may be slow.
    private func recover(_ plan: RenewalPlan, _ keys: [AssetKey]) async {
        guard let recovery else { return }
        for key in keys {
            for asset in plan.assetsByKey[key] ?? [] {
                guard !Task.isCancelled, let date = plan.records[key]?.failure?.last else { return }
                await recovery.handleExpiredAsset(asset, key: key.text, at: date)
            }
        }
    }

    func forget(_ keys: [AssetKey], _ report: inout RenewalReport) async {
        do {
            try await ledger.remove(keys)
        } catch {
            report.error = CloakroomError(of: error, otherwise: .storeFailed, "old records could not be removed")
        }
    }
}
