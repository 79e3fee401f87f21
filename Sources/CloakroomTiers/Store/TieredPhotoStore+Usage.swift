import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// How much is where: on this device the disk space, in the cold tier the sum of the photos' sizes.
    public func usage() throws -> StorageUsage {
        var usage = StorageUsage()
        // First: one that another process adds meanwhile is in the catalog then.
        usage.inboxCount = try StoreFolder.names(in: folder.inbox).filter { $0.hasSuffix(".photo") }.count
        try catalog.perform { database throws(SQLiteError) in
            try database.forEach("SELECT state, count(*), coalesce(sum(byte_count), 0) FROM photo GROUP BY state") {
                row in
                let (count, bytes) = (Int(row.integer(1)), row.integer(2))
                usage.photoCount += count
                let state = PhotoState(rawValue: row.integer(0)) ?? .hot
                if !state.hasLeft { usage.hotCount += count }
                switch state {
                case .hot, .uploading: break
                case .both, .evicting, .cold:
                    usage.coldCount += count
                    usage.coldBytes += bytes
                case .missing: usage.missingCount += count
                }
                return true
            }
            usage.thumbnailBytes =
                try database.first("SELECT coalesce(sum(length(bytes)), 0) FROM thumbnail") { $0.integer(0) } ?? 0
            let withoutThumbnail = try database.first(
                """
                SELECT count(*) FROM photo WHERE \(PhotoState.localSQL)
                AND NOT EXISTS (SELECT 1 FROM thumbnail WHERE photo = photo.id AND length(bytes) > 0)
                """
            ) { Int($0.integer(0)) }
            usage.withoutThumbnailCount = withoutThumbnail ?? 0
        }
        if let identity = try catalog.setting(.identity) {
            usage.absentDevices = try catalog.absentDevices(of: identity)
        }
        usage.hotBytes = try StoreFolder.names(in: folder.photos).reduce(0) {
            $0 + Self.allocatedBytes(folder.photo($1))
        }
        for suffix in ["", "-wal", "-shm"] {
            let file = folder.url.appendingPathComponent(folder.catalog.lastPathComponent + suffix, isDirectory: false)
            usage.catalogBytes += Self.allocatedBytes(file)
        }
        return usage
    }

    /// Whether the cold tier can be used now, and how much room there is, where it says so.
    public func availability() async -> TierAvailability { await tier.availability() }

    /// What ``restoreAll(progress:)`` would download.
    public func downloadPlan() throws -> DownloadPlan {
        let (count, bytes) = try catalog.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT count(*), coalesce(sum(byte_count), 0) FROM photo WHERE \(PhotoState.leftSQL)"
            ) { (Int($0.integer(0)), $0.integer(1)) } ?? (0, 0)
        }
        return DownloadPlan(
            photoCount: count, byteCount: bytes, availableBytes: folder.freeBytes.map { max(0, $0 - Self.reserve) })
    }

    private static func allocatedBytes(_ file: URL) -> Int64 {
        StoreFolder.status(file).map { StoreFolder.allocatedBytes($0) } ?? 0
    }
}
