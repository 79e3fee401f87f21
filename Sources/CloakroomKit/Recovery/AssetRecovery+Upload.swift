import Foundation

extension AssetRecovery {
    /// How long a server that refuses an upload for good is left alone.
    static let refusalInterval: TimeInterval = 86_400
    /// How long nothing is asked after a failure that the next asset would have, too, unless the server says.
    static let pauseInterval: Duration = .seconds(60)
    /// However long it asks to be left alone.
    static let longestPause: Duration = .seconds(86_400)

    func upload(_ bytes: AssetBytes, for record: RecoveryRecord) async throws -> RecoveryOutcome {
        var record = record
        switch record.step {
        case .missing, .expired:
            record.step = .expired
            try await journal.write(record)
        case .uploading, .uploaded, .clearing: break
        }
        if let error = standingError(of: record) { return .postponed(error) }
        if case .uploading(let place) = record.step,
            let object = try await asking(for: record, { try await finish(place, with: bytes) })
        {
            return try await keep(object, for: record)
        }
        do {
            return try await keep(try await uploadToNewPlace(bytes, for: record), for: record)
        } catch let error as CloakroomError where error.code == .uploadURLExpired {
            // The device slept between the two requests.
            return try await keep(try await uploadToNewPlace(bytes, for: record), for: record)
        }
    }

    private func uploadToNewPlace(_ bytes: AssetBytes, for record: RecoveryRecord) async throws -> RecoveredObject {
        var record = record
        let date = surroundings.wallClock()
        let target = try await asking(for: record) { try await uploader.requestUpload(bytes) }
        let place = RecoveryPlace(target: target, byteCount: bytes.body.byteCount, requestedAt: date)
        record.step = .uploading(place)
        record.refusal = nil
        try await journal.write(record)
        try await asking(for: record) { try await uploader.upload(bytes.body, to: target) }
        return RecoveredObject(place)
    }

    /// Ends an upload that an earlier try had begun, perhaps.
    ///
    /// - Returns: `nil` when that place is of no more use, and nothing is there.
    private func finish(_ place: RecoveryPlace, with bytes: AssetBytes) async throws -> RecoveredObject? {
        let isOpen = place.target.expiration.map { surroundings.wallClock() < $0 } ?? false
        if isOpen, place.byteCount == bytes.body.byteCount {
            do {
                try await uploader.upload(bytes.body, to: place.target)
                return RecoveredObject(place)
            } catch let error as CloakroomError where !error.leavesPlaceOpen {
                // The URL has ended after all, or who signed it; then it is as if it had never been open.
            }
        }
        return try await findUpload(at: place)
    }

    /// Whether an object is there: S3 renews no other.
    ///
    /// - Returns: `nil` when there certainly is none for this user.
    func findUpload(at place: RecoveryPlace) async throws -> RecoveredObject? {
        let key = place.target.objectKey
        let results = try await uploader.renewAssets(keys: [key])
        switch results.first(where: { $0.key == key })?.outcome {
        case .renewed: return RecoveredObject(place)
        case .notFound, .refused: return nil
        case .failed(let reason): throw CloakroomError(.unavailable, "the upload was not found: \(reason)")
        case nil: throw CloakroomError(.invalidAnswer, "the answer says nothing of \(key)")
        }
    }

    /// Asks the server, and remembers an answer that forbids to ask again soon.
    func asking<Answer>(
        for record: RecoveryRecord, _ request: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await request()
        } catch {
            let error = CloakroomError(of: error)
            if error.concernsAll {
                pause = (surroundings.now() + min(error.retryAfter ?? Self.pauseInterval, Self.longestPause), error)
            } else if error.isLasting {
                var refused = record
                let end = surroundings.wallClock() + Self.refusalInterval
                refused.refusal = RecoveryRecord.Refusal(code: error.code, until: end)
                // If it cannot be kept, the server is asked again.
                _ = try? await journal.write(refused)
            }
            throw error
        }
    }

    private func standingError(of record: RecoveryRecord) -> CloakroomError? {
        if let pause, surroundings.now() < pause.end { return pause.error }
        guard let refusal = record.refusal else { return nil }
        // A clock that was set back does not make it longer.
        let rest = refusal.until.timeIntervalSince(surroundings.wallClock())
        guard rest > 0, rest <= Self.refusalInterval else { return nil }
        return CloakroomError(refusal.code, "refused before; it is tried again after \(refusal.until)")
    }
}

extension RecoveredObject {
    fileprivate init(_ place: RecoveryPlace) {
        self.init(key: place.target.objectKey, url: place.target.assetURL, storedAt: place.requestedAt)
    }
}
