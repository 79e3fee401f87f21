import CloakroomKit
import Foundation

extension TieredPhotoStore {
    /// Moves all photos of an older store of the app into this one, each under its name there, and as old as it is.
    ///
    /// A row is removed when its photo and the photo's record are on the disk, whether or not the cold tier has it: backups of
    /// the device that had the row have to have the store's folder, too. Those that are due leave for the cold tier after each
    /// batch, so that beside the photos that stay on the device, their thumbnails included, not more than one batch lies on the
    /// disk twice. When they cannot leave, or the disk is about to be full, the migration stops. It can stop or be killed
    /// anywhere; the next call goes on, and one that finds nothing to do costs nothing.
    ///
    /// Until it is done, an app looks for a photo in the older store first, and then here: photos move in this direction alone. It
    /// removes one in both: one whose row is left there would be moved once more.
    ///
    /// - Parameters:
    ///   - run: what the transfers may use.
    ///   - batchBytes: of photos that are moved together.
    ///   - progress: rows that were looked at, of those that there were.
    /// - Throws: ``CloakroomError`` when the source cannot be read at all, and ``CloakroomError/Code/storeInUse``.
    ///   Whatever comes later is in the report.
    public func migrate(
        from source: any LegacyBlobSource, run: TieringRun = .background, batchBytes: Int64 = 32 << 20,
        progress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
    ) async throws -> MigrationReport {
        try await writing(isLong: true) { try await $0.move(from: source, run, batchBytes, progress) }
    }

    private func move(
        from source: any LegacyBlobSource, _ run: TieringRun, _ batchBytes: Int64,
        _ progress: (@Sendable (Int, Int) -> Void)?
    ) async throws -> MigrationReport {
        let total = try await source.count()
        var report = MigrationReport()
        var batch = MigrationBatch()
        do {
            try await move(from: source, run, batchBytes, &batch, &report) { progress?($0, max(total, $0)) }
            if case .pending = try await source.compact() { report.isCompactionPending = true }
        } catch {
            report.stoppedBy = CloakroomError(of: error)
            report.isCompactionPending = true
            // What was imported needs not be read once more; if this fails, it is.
            try? await leaveSource(source, &batch, &report)
        }
        report.remaining = try await source.count()
        return report
    }

    private func move(
        from source: any LegacyBlobSource, _ run: TieringRun, _ batchBytes: Int64, _ batch: inout MigrationBatch,
        _ report: inout MigrationReport, _ progress: (Int) -> Void
    ) async throws {
        var (position, done) = (Int64?.none, 0)
        while true {
            let page = try await source.blobs(after: position, limit: Self.rowsAtOnce)
            for blob in page {
                guard !Task.isCancelled else { throw CloakroomError.cancelled }
                if !hasRoom(for: blob) {
                    try await finish(&batch, source, run, batchBytes, &report)
                    try requireRoom(for: blob)
                }
                do {
                    try await batch.append(importPhoto(blob, from: source))
                } catch let error as CloakroomError where Self.isOfOneRow(error) {
                    report.fail(blob, error)
                }
                done += 1
                progress(done)
                if batch.bytes >= batchBytes || batch.photos.count >= 256 {
                    try await finish(&batch, source, run, batchBytes, &report)
                }
            }
            guard page.count == Self.rowsAtOnce, let last = page.last else { break }
            position = last.position
        }
        try await finish(&batch, source, run, batchBytes, &report)
    }

    private static let rowsAtOnce = 64

    private static func isOfOneRow(_ error: CloakroomError) -> Bool {
        [.unreadableFile, .nameTaken, .noSuchPhoto, .photoDamaged].contains(error.code)
    }

    // MARK: One row

    private func importPhoto(
        _ blob: LegacyBlob, from source: any LegacyBlobSource
    ) async throws -> MigrationBatch.Photo {
        guard let name = blob.name else { throw CloakroomError(.unreadableFile, "the name is no text") }
        guard let byteCount = blob.byteCount else { throw CloakroomError(.unreadableFile, "\(name) has no bytes") }
        let file = newCopyURL()
        defer { try? StoreFolder.remove(file) }
        let sha256 = try await source.write(blob, to: file)
        let now = clock()
        // A date to come would keep it here until then.
        let date = min(blob.createdAt ?? now, now)
        let id = try await add(file, name: name, takenAt: date, addedAt: date)
        guard try catalog.photo(id.rawValue)?.sha256 == sha256 else {
            throw CloakroomError(.photoDamaged, "\(name) has other bytes than were read")
        }
        return MigrationBatch.Photo(blob: blob, sha256: sha256, id: id.rawValue, byteCount: byteCount)
    }

    /// Once as it is read, and once as it is added.
    private func hasRoom(for blob: LegacyBlob) -> Bool {
        guard let free = folder.freeBytes else { return true }
        return free >= 2 * (blob.byteCount ?? 0) + Self.reserve
    }

    private func requireRoom(for blob: LegacyBlob) throws {
        guard hasRoom(for: blob) else { throw CloakroomError(.diskFull, "there is no room for more photos") }
    }

    // MARK: One batch

    private func finish(
        _ batch: inout MigrationBatch, _ source: any LegacyBlobSource, _ run: TieringRun, _ batchBytes: Int64,
        _ report: inout MigrationReport
    ) async throws {
        guard !batch.photos.isEmpty else { return }
        let ids = batch.photos.map(\.id)
        try await leaveSource(source, &batch, &report)
        // One that began earlier may not know of these.
        try await waitForRun()
        let result = await self.run(run)
        report.evicted += result.evicted
        report.evictedBytes += result.evictedBytes

        guard let limit = policy.rule(at: clock())?.addedBefore else { return }
        let due = try catalog.photos(ids).filter { $0.addedAt <= limit }
        let stuck = due.filter(\.state.isLocal)
        guard !stuck.isEmpty else { return batch.stuckBytes = 0 }
        if let error = result.stoppedBy { throw error }
        if let alarm = result.alarms.first {
            throw CloakroomError(.alarmRaised, "nothing leaves the device: \(alarm.kind.rawValue)")
        }
        // Single ones may stay, such as those that are no pictures.
        if stuck.count < due.count { batch.stuckBytes = 0 }
        batch.stuckBytes += stuck.reduce(0) { $0 + $1.byteCount }
        guard batch.stuckBytes < batchBytes else {
            throw result.failures.first?.error
                ?? CloakroomError(.notAllowedNow, "photos that are due cannot leave the device")
        }
    }

    /// Removes what is imported from the source.
    private func leaveSource(
        _ source: any LegacyBlobSource, _ batch: inout MigrationBatch, _ report: inout MigrationReport
    ) async throws {
        guard !batch.photos.isEmpty else { return }
        try await source.delete(batch.photos.map { ($0.blob, $0.sha256) })
        report.imported += batch.photos.count
        report.importedBytes += batch.bytes
        batch.photos = []
        batch.bytes = 0
    }
}

/// Photos that are in the store, and not yet removed from where they were.
private struct MigrationBatch {
    struct Photo {
        var blob: LegacyBlob
        var sha256: [UInt8]
        var id: Int64
        var byteCount: Int64
    }

    var photos: [Photo] = []
    var bytes: Int64 = 0
    /// Of photos of earlier batches that are due and still here, since one could leave.
    var stuckBytes: Int64 = 0

    mutating func append(_ photo: Photo) {
        photos.append(photo)
        bytes += photo.byteCount
    }
}
