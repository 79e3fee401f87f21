import Foundation

extension AssetRenewalManager {
    /// As many batches in a row may fail before the rest waits for another run.
    private static let maximumConsecutiveFailures = 3

    /// Sends batch after batch of what is due so far, and records what the server says of each before the next.
    func renew(_ queue: inout RenewalQueue, of plan: inout RenewalPlan, in walk: RenewalWalk) async {
        let keyCount = queue.count
        let notFoundBefore = walk.report.notFound.count
        while walk.report.end == .finished, let batch = queue.next() {
            guard !Task.isCancelled else {
                walk.report.stop(.cancelled)
                walk.report.notSent += batch.count
                break
            }
            // What happens to an object happens after this; so it counts as renewed a little earlier than it was.
            let date = runtime.wallClock()
            walk.report.requests += 1
            do {
                let response = BatchResponse(try await renewer.renewAssets(keys: batch.map(\.text)))
                walk.consecutiveFailures = 0
                queue.grow()
                for key in await apply(response, for: batch, at: date, of: &plan, &walk.report) {
                    walk.renewed.insert(KeyDigest(key))
                }
            } catch {
                let error = CloakroomError(of: error, "the renewal failed")
                await handle(error, for: batch, at: date, of: &plan, &walk.report)
                walk.consecutiveFailures += 1
                if walk.consecutiveFailures == Self.maximumConsecutiveFailures, walk.report.end == .finished {
                    walk.report.end = .stopped
                }
            }
            progress?(
                RenewalProgress(
                    requestsDone: walk.report.requests,
                    requestsExpected: walk.report.requests + queue.batchCount,
                    keysDone: walk.keysDone + keyCount - queue.count, keys: walk.keysDone + keyCount))
        }
        walk.keysDone += keyCount
        walk.report.notSent += queue.count
        walk.report.unrecorded = ledger.waitingCount
        await recover(plan, walk.report.notFound.dropFirst(notFoundBefore).map(AssetKey.init), in: walk)
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

    /// Runs after the renewals, because it may be slow.
    private func recover(_ plan: RenewalPlan, _ keys: [AssetKey], in walk: RenewalWalk) async {
        guard let recovery else { return }
        for key in keys {
            walk.missing[KeyDigest(key)] = plan.records[key]?.failure?.last
            for asset in plan.assetsByKey[key] ?? [] {
                guard !Task.isCancelled, let date = plan.records[key]?.failure?.last else { return }
                await recovery.handleExpiredAsset(asset, key: key.text, at: date)
            }
        }
    }
}
