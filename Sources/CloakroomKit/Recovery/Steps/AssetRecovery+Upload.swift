import Foundation

extension AssetRecovery {
    /// How long no upload is requested after a permanent refusal.
    static let refusalInterval: TimeInterval = 86_400
    /// How long no request is sent after a failure that is not about one asset, without `Retry-After`.
    static let pauseInterval: Duration = .seconds(60)
    /// The longest `Retry-After` that is followed.
    static let longestPause: Duration = .seconds(86_400)

    func upload(_ bytes: UploadContent, for record: RecoveryRecord) async throws -> RecoveryOutcome {
        var record = record
        switch record.step {
        case .missing, .expired:
            record.step = .expired
            try await journal.write(record)
        case .uploading, .uploaded, .clearing: break
        }
        if let error = standingError(of: record) { return .postponed(error) }
        if case .uploading(let destination) = record.step,
            let object = try await performing(for: record, { try await finish(destination, with: bytes) })
        {
            return try await keep(object, for: record)
        }
        do {
            return try await keep(try await uploadToNewDestination(bytes, for: record), for: record)
        } catch let error as CloakroomError where error.code == .uploadURLExpired {
            // The device slept between the two requests.
            return try await keep(try await uploadToNewDestination(bytes, for: record), for: record)
        }
    }

    private func uploadToNewDestination(_ bytes: UploadContent, for record: RecoveryRecord) async throws
        -> RecoveredObject
    {
        var record = record
        let date = runtime.wallClock()
        let target = try await performing(for: record) { try await uploader.requestUpload(bytes) }
        let destination = UploadDestination(target: target, byteCount: bytes.body.byteCount, requestedAt: date)
        record.step = .uploading(destination)
        record.refusal = nil
        try await journal.write(record)
        try await performing(for: record) { try await uploader.upload(bytes.body, to: target) }
        return RecoveredObject(destination)
    }

    /// Completes an upload that an earlier attempt may have begun.
    ///
    /// - Returns: `nil` when that destination is of no more use, and nothing is there.
    private func finish(_ destination: UploadDestination, with bytes: UploadContent) async throws -> RecoveredObject? {
        let isOpen = destination.target.expiration.map { runtime.wallClock() < $0 } ?? false
        if isOpen, destination.byteCount == bytes.body.byteCount {
            do {
                try await uploader.upload(bytes.body, to: destination.target)
                return RecoveredObject(destination)
            } catch let error as CloakroomError where !error.leavesDestinationOpen {
                // The URL has ended after all, or who signed it; then it is as if it had never been open.
            }
        }
        return try await findUpload(at: destination)
    }

    /// - Returns: `nil` when there certainly is no object for this user.
    func findUpload(at destination: UploadDestination) async throws -> RecoveredObject? {
        try await uploader.hasObject(destination.target.objectKey) ? RecoveredObject(destination) : nil
    }

    /// Sends a request, and records a response that delays the next one.
    func performing<Answer>(
        for record: RecoveryRecord, _ request: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await request()
        } catch {
            let error = CloakroomError(of: error)
            if error.concernsAll {
                pause = (runtime.now() + min(error.retryAfter ?? Self.pauseInterval, Self.longestPause), error)
            } else if error.isLasting {
                var refused = record
                let end = runtime.wallClock() + Self.refusalInterval
                refused.refusal = RecoveryRecord.Refusal(code: error.code, until: end)
                // If it cannot be recorded, the request is sent again.
                _ = try? await journal.write(refused)
            }
            throw error
        }
    }

    private func standingError(of record: RecoveryRecord) -> CloakroomError? {
        if let pause, runtime.now() < pause.end { return pause.error }
        guard let refusal = record.refusal else { return nil }
        // A clock that was set back does not make it longer.
        let rest = refusal.until.timeIntervalSince(runtime.wallClock())
        guard rest > 0, rest <= Self.refusalInterval else { return nil }
        return CloakroomError(refusal.code, "refused before; it is retried after \(refusal.until)")
    }
}

extension RecoveredObject {
    fileprivate init(_ destination: UploadDestination) {
        self.init(
            key: destination.target.objectKey, url: destination.target.assetURL, storedAt: destination.requestedAt)
    }
}
