import Foundation

extension AssetRecovery {
    /// From where the record is to where it can come now.
    ///
    /// - Parameter date: when S3 said that the object is gone; `nil` when this launch sent no request for it.
    func goOn(with record: RecoveryRecord, saidGoneAt date: Date?) async throws -> RecoveryOutcome {
        switch record.step {
        case .uploaded(let object): return try await handOut(object, for: record)
        case .clearing: return try await clear(record)
        case .missing where date == nil: return try await keepMark(record)
        case .missing, .expired, .uploading: break
        }
        guard let bytes = try await cache.cachedContent(for: record.asset), bytes.body.byteCount > 0 else {
            return try await goOnWithoutBytes(record, saidGoneAt: date)
        }
        return try await upload(bytes, for: record)
    }

    private func goOnWithoutBytes(_ record: RecoveryRecord, saidGoneAt date: Date?) async throws -> RecoveryOutcome {
        var record = record
        let now = date ?? runtime.wallClock()
        switch record.step {
        case .uploading(let destination):
            // The bytes may be at that destination, and nowhere else.
            if let object = try await performing(for: record, { try await findUpload(at: destination) }) {
                return try await keep(object, for: record)
            }
        case .missing where !DeletionConfirmation.isVoid(first: record.since, now: now):
            let elapsed = firstMissing[record.asset].map { runtime.now() - $0 }
            guard DeletionConfirmation.isAnotherDay(first: record.since, second: now, elapsed: elapsed) else {
                return .awaitingConfirmation(since: record.since)
            }
            record.step = .clearing
            try await journal.write(record)
            return try await clear(record)
        case .missing, .expired, .uploaded, .clearing: break
        }
        let mark = RecoveryRecord(asset: record.asset, key: record.key, since: now, step: .missing)
        try await journal.write(mark)
        firstMissing[record.asset] = runtime.now()
        return .awaitingConfirmation(since: now)
    }

    /// Leaves a mark for the second check, if there can still be one.
    private func keepMark(_ record: RecoveryRecord) async throws -> RecoveryOutcome {
        if DeletionConfirmation.isVoid(first: record.since, now: runtime.wallClock()) {
            try await journal.remove(record.asset)
        }
        return .awaitingConfirmation(since: record.since)
    }

    private func clear(_ record: RecoveryRecord) async throws -> RecoveryOutcome {
        try await urls.clearURL(of: record.asset)
        return await close(record, as: .cleared)
    }

    /// Journals that the object exists, and writes its URL to the app's database.
    func keep(_ object: RecoveredObject, for record: RecoveryRecord) async throws -> RecoveryOutcome {
        var record = record
        record.step = .uploaded(object)
        try await journal.write(record)
        return try await handOut(object, for: record)
    }

    private func handOut(_ object: RecoveredObject, for record: RecoveryRecord) async throws -> RecoveryOutcome {
        guard try await urls.replaceURL(of: record.asset, with: object.url) else {
            return await close(record, as: .superseded)
        }
        // At worst it is renewed earlier than it needs.
        _ = try? await renewals?.save([RenewalRecord(key: object.key, lastRenewed: object.storedAt)])
        return await close(record, as: .recovered(newURL: object.url))
    }

    private func close(_ record: RecoveryRecord, as outcome: RecoveryOutcome) async -> RecoveryOutcome {
        // A record that stays is done once more at the next launch, without effect.
        _ = try? await journal.remove(record.asset)
        firstMissing[record.asset] = nil
        return outcome
    }
}
