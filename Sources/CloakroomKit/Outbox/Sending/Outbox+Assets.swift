import CloakroomAWS
import Foundation

extension Outbox {
    /// - Returns: when S3 has the asset, at the row's target.
    func sendAsset(_ row: inout OutboxRow) async throws {
        guard let assets else {
            throw CloakroomError(.notAllowedNow, "this outbox was opened without an uploader of assets")
        }
        if let response = try await earlierResponse(&row), let target = row.target,
            try await isStored(at: target, &row, by: response)
        {
            return
        }
        // The second one when the device slept since the first.
        for _ in 0..<2 {
            let target = try await openTarget(&row, assets)
            guard let target else { return }
            try await checkFile(&row)
            let fields = try target.fieldsToSend(byteCount: row.file.byteCount)
            let response = try await transfer(request(target.uploadURL, fields, row), &row)
            if try await isStored(at: target, &row, by: response) { return }
        }
        throw CloakroomError(.uploadURLExpired, "The upload URLs expire before they can be used")
    }

    /// The target that the row has, as long as its URL holds, or a new one.
    ///
    /// - Returns: `nil` when S3 has the asset, at the target that the row has.
    private func openTarget(
        _ row: inout OutboxRow, _ assets: any PresignedUploader & AssetRenewer
    ) async throws -> UploadTarget? {
        if let target = row.target {
            let left = await timeLeft(of: target)
            if left > 0 { return target }
            if row.mayBeStored {
                // Until what was sent before its end has had its time, it may still be stored.
                guard left <= -Self.settlingTime else {
                    throw CloakroomError(
                        .uploadURLExpired, "The upload URL has expired", retryAfter: .seconds(left + Self.settlingTime))
                }
                if try await target.isStored(by: assets) { return nil }
            }
        }
        row.target = nil
        row.mayBeStored = false
        let target =
            row.isChatImage
            ? try await assets.requestChatUpload(contentType: row.contentType, byteCount: row.file.byteCount)
            : try await assets.requestUpload(contentType: row.contentType, byteCount: row.file.byteCount)
        row.target = target
        try store.update(row)
        await onStep(.targeted)
        return target
    }

    /// In seconds: how long an upload may take to end that began before its URL did.
    static let settlingTime: Double = 60

    /// In seconds; without end where the server does not say.
    private func timeLeft(of target: UploadTarget) async -> Double {
        guard let end = target.expiration else { return .infinity }
        return end.timeIntervalSince(await serverTime())
    }

    private func serverTime() async -> Date {
        await assets?.serverTime(runtime) ?? runtime.wallClock()
    }

    /// - Returns: `false` when the URL has expired.
    private func isStored(
        at target: UploadTarget, _ row: inout OutboxRow, by response: HTTPResponse
    ) async throws -> Bool {
        if response.saysStored { return true }
        switch UploadAttemptOutcome(response, createsOnly: target.createsOnly, now: runtime.wallClock()) {
        case .storedBefore: return true
        case .again(let error): throw error
        case .final(let error):
            if error.code == .checksumMismatch { try await checkBytes(row) }
            guard error.code == .uploadURLExpired else { throw error }
            // As S3 says, whatever the clock here shows.
            row.target = target.ended(at: await serverTime())
            try store.update(row)
            return false
        }
    }
}

extension UploadTarget {
    fileprivate func ended(at date: Date) -> UploadTarget {
        UploadTarget(
            objectKey: objectKey, uploadURL: uploadURL, assetURL: assetURL,
            expiration: min(expiration ?? date, date), fields: fields, releaseToken: releaseToken)
    }
}
