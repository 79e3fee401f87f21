import CloakroomSQLite

/// What downloading all photos takes.
public struct DownloadPlan: Sendable, Equatable {
    /// Photos that are not on this device; those that were missing in the cold tier are looked for again.
    public var photoCount: Int
    public var byteCount: Int64
    /// Free on the disk of the store's folder, less what stays free; `nil` where the system does not say.
    public var availableBytes: Int64?

    public init(photoCount: Int, byteCount: Int64, availableBytes: Int64?) {
        self.photoCount = photoCount
        self.byteCount = byteCount
        self.availableBytes = availableBytes
    }

    /// Whether all of it fits; the store looks again before it begins.
    public var hasRoom: Bool { availableBytes.map { $0 >= byteCount } ?? true }
}

extension TieredPhotoStore {
    /// Whether the cold tier can be used now, and how much room there is, where it says so.
    public func availability() async -> TierAvailability { await tier.availability() }

    /// What ``restoreAll(progress:)`` would download.
    public func downloadPlan() throws -> DownloadPlan {
        let (count, bytes) = try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT count(*), coalesce(sum(byte_count), 0) FROM photo WHERE state >= 4") {
                (Int($0.integer(0)), $0.integer(1))
            } ?? (0, 0)
        }
        return DownloadPlan(
            photoCount: count, byteCount: bytes, availableBytes: folder.freeBytes.map { max(0, $0 - Self.reserve) })
    }
}
