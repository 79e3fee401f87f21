import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// How much is where: on this device the disk space, in the cold tier the sum of the photos' sizes.
    public func usage() throws -> StorageUsage {
        var usage = StorageUsage()
        try catalog.perform { database throws(SQLiteError) in
            try database.forEach("SELECT state, count(*), coalesce(sum(byte_count), 0) FROM photo GROUP BY state") {
                row in
                let (count, bytes) = (Int(row.integer(1)), row.integer(2))
                usage.photoCount += count
                let state = PhotoState(rawValue: row.integer(0)) ?? .hot
                if state.rawValue <= PhotoState.evicting.rawValue { usage.hotCount += count }
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
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.photos.path)) ?? []
        usage.hotBytes = names.reduce(0) { $0 + Self.allocatedBytes(folder.photo($1)) }
        for suffix in ["", "-wal", "-shm"] {
            let file = folder.url.appendingPathComponent(folder.catalog.lastPathComponent + suffix, isDirectory: false)
            usage.catalogBytes += Self.allocatedBytes(file)
        }
        return usage
    }

    private static func allocatedBytes(_ file: URL) -> Int64 {
        StoreFolder.status(file).map { StoreFolder.allocatedBytes($0) } ?? 0
    }
}
