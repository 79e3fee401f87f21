import CloakroomKit
import CloakroomSQLite
public import Foundation

/// What came of making a thumbnail.
enum ThumbnailResult: Sendable {
    case made(Thumbnail)
    /// There is no picture in the photo, or none that can be read as yet: another attempt is made within a week.
    case impossible
    /// Not now; the next run makes it.
    case none
}

extension TieredPhotoStore {
    func makeThumbnail(of file: URL) async -> ThumbnailResult {
        do {
            let thumbnail = try await thumbnailer.thumbnail(of: file, maximumPixelSize: Thumbnail.maximumPixelSize)
            let size = thumbnail.bytes.count
            return size > 0 && size <= Thumbnail.maximumBytes ? .made(thumbnail) : .impossible
        } catch {
            return Task.isCancelled || Self.isPassing(error) ? .none : .impossible
        }
    }

    /// Whether it says nothing of the photo.
    private static func isPassing(_ error: any Error) -> Bool {
        if error is CancellationError { return true }
        let passing: Set<CloakroomError.Code> = [.cancelled, .timedOut, .unavailable, .diskFull, .unwritableFile]
        return (error as? CloakroomError).map { passing.contains($0.code) } ?? false
    }

    /// Makes the thumbnails that were not made when their photos were added; once a week also those that could not be made.
    func makeMissingThumbnails() async throws {
        try forgetFailedThumbnails()
        let ids = try catalog.ids(
            """
            SELECT id FROM photo WHERE \(PhotoState.localSQL) AND sha256 IS NOT NULL
            AND id NOT IN (SELECT photo FROM thumbnail)
            """)
        for id in ids {
            try Task.checkCancellation()
            guard let row = try catalog.photo(id), let name = row.fileName, let sha256 = row.sha256,
                let stamp = try? FileStamp(path: folder.photo(name).path),
                let status = StoreFolder.status(folder.photo(name))
            else { continue }
            let result = await makeThumbnail(of: folder.photo(name))
            // Of a file that went meanwhile, or was replaced, it says nothing of the photo.
            guard try await isUnchanged(folder.photo(name), since: stamp, status, sha256) else { continue }
            try catalog.transaction { database throws(SQLiteError) in
                guard try Catalog.photo(id, in: database) != nil else { return }
                try Catalog.record(result, of: id, in: database)
            }
        }
    }

    /// In seconds.
    private static let thumbnailRetryInterval: TimeInterval = 7 * 86_400

    /// Once a week, has photos whose thumbnails could not be made count as those whose thumbnails were not made yet: a later
    /// version of the system, or of the app, may read what an earlier one could not.
    private func forgetFailedThumbnails() throws(CloakroomError) {
        let now = clock()
        let last = try catalog.date(.lastThumbnailRetry) ?? .distantPast
        // A clock that went back does not put it off for ever.
        guard abs(now.timeIntervalSince(last)) >= Self.thumbnailRetryInterval else { return }
        let ids = try catalog.ids(
            """
            SELECT id FROM photo WHERE \(PhotoState.localSQL)
            AND EXISTS (SELECT 1 FROM thumbnail WHERE photo = photo.id AND length(bytes) = 0)
            """)
        guard !ids.isEmpty else { return }
        try catalog.transaction { database throws(SQLiteError) in
            for id in ids {
                try database.run("DELETE FROM thumbnail WHERE photo = ? AND length(bytes) = 0", [.integer(id)])
            }
            try database.set(.lastThumbnailRetry, to: String(now.milliseconds))
        }
    }

    /// A photo's thumbnail; on a device that does not have it yet it is fetched, and kept.
    ///
    /// - Returns: `nil` when there is none, here or in the cold tier.
    /// - Throws: ``CloakroomError/Code/noSuchPhoto``, ``CloakroomError/Code/accountChanged``, and what the cold tier throws.
    public func thumbnail(of id: PhotoID) async throws -> Data? {
        guard let row = try catalog.photo(id.rawValue) else { throw Self.noSuchPhoto(id) }
        if try catalog.hasThumbnail(row.id) { return try catalog.thumbnail(row.id).map { Data($0) } }
        guard row.state.isProven || row.state == .missing else { return nil }
        guard try await tier.identity == row.tier else {
            throw CloakroomError(.accountChanged, "photo \(row.id) is in another account")
        }
        let fetched = try await thumbnailLimit.holding { try await tier.thumbnail(of: row.descriptor) }
        guard let fetched, !fetched.isEmpty, fetched.count <= Thumbnail.maximumBytes else { return nil }
        // A process that only reads shows it and does not keep it.
        if isWriter {
            try catalog.transaction { database throws(SQLiteError) in
                guard try Catalog.photo(row.id, in: database) != nil else { return }
                let thumbnail = Thumbnail(bytes: fetched, width: 0, height: 0)
                try Catalog.record(thumbnail, of: row.id, in: database)
                try database.run("UPDATE photo SET thumbnail_uploaded = 1 WHERE id = ?", [.integer(row.id)])
            }
        }
        return fetched
    }
}

extension Catalog {
    /// Whether one was made, or was found to be impossible.
    func hasThumbnail(_ id: Int64) throws(CloakroomError) -> Bool {
        try count("SELECT count(*) FROM thumbnail WHERE photo = ?", [.integer(id)]) > 0
    }

    static func record(_ result: ThumbnailResult, of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        switch result {
        case .made(let thumbnail): try record(thumbnail, of: id, in: database)
        case .impossible:
            // In the place of none that was made or fetched meanwhile.
            try database.run(
                "INSERT OR IGNORE INTO thumbnail (photo, width, height, bytes) VALUES (?, 0, 0, x'')", [.integer(id)])
        case .none: break
        }
    }
}
