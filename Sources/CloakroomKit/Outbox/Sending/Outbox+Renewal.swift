import CloakroomWire
import Foundation

/// Assets that S3 has and that the app has not acknowledged: nothing else knows of them that could renew them.
extension Outbox {
    /// In seconds: half of the time after which an object that is not renewed expires.
    static let renewalInterval: Double = 15 * 86_400
    /// In seconds, after a failure.
    static let renewalRetryInterval: Double = 3_600

    /// Renews those that are due; those that have expired all the same wait to be sent again. Images of chats are not
    /// renewed: they end with their messages.
    func renewUploaded() async throws {
        guard let assets, !isPaused else { return }
        let due = try store.rows(.uploaded).filter { row in
            // No renewal lies further ahead, unless the clock was wrong.
            let isDue = row.notBefore.map { $0 <= now || $0 > now + Self.renewalInterval } ?? true
            return isDue && !row.isChatImage && row.target != nil
        }
        var hasExpired = false
        let size = WireLimits.maximumKeysPerRequest
        for start in stride(from: 0, to: due.count, by: size) {
            let batch = due[start..<min(start + size, due.count)]
            let results = try? await assets.renewAssets(keys: batch.compactMap { $0.target?.objectKey })
            if Task.isCancelled { throw CloakroomError.cancelled }
            try checkOpen()
            let response = BatchResponse(results ?? [])
            // The app may have acknowledged some meanwhile.
            for id in batch.map(\.id) {
                guard let row = try store.row(id: id), row.state == .uploaded, let target = row.target else { continue }
                let outcome = response[AssetKey(target.objectKey)]
                if outcome == .notFound { hasExpired = true }
                try note(outcome, of: row)
            }
            // The others are as due at the next run.
            if results == nil { break }
        }
        if hasExpired { changed() }
    }

    private func note(_ outcome: RenewalResult.Outcome, of row: OutboxRow) throws(CloakroomError) {
        var row = row
        switch outcome {
        case .renewed: row.notBefore = now + Self.renewalInterval
        case .failed, .refused: row.notBefore = now + Self.renewalRetryInterval
        case .notFound:
            row.target = nil
            row.mayBeStored = false
            row.notBefore = nil
            // Those of earlier versions have no bytes any more.
            row.state = try folder.hasBytes(row) ? .waiting : .failed
            if row.state == .failed { row.error = CloakroomError(.noSuchObject, "the asset has expired") }
            try folder.rewriteRecord(row)
        }
        try store.update(row)
    }
}
