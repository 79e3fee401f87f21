import CloakroomKit
import CloakroomSQLite
import Foundation

/// The images that the bucket is to delete: recorded by purges, and sent when the network is there.
extension SQLiteMessageStorage {
    /// - Parameter now: by the wall clock, which only decides when one is tried again.
    func releases(now: Milliseconds, limit: Int) throws(CloakroomError) -> [ReleasableAsset] {
        try database.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT asset_key, token FROM release WHERE retry_at <= ? ORDER BY retry_at LIMIT ?",
                [.integer(now), SQLiteValue(limit)]
            ) { ReleasableAsset(key: $0.text(0), token: $0.text(1)) }
        }
    }

    /// Records what became of them.
    ///
    /// - Parameter outcomes: what is missing of `assets` has failed.
    func finish(
        _ assets: [ReleasableAsset], _ outcomes: [String: ReleaseOutcome], now: Milliseconds
    ) throws(CloakroomError) {
        try database.transaction { database throws(SQLiteError) in
            for asset in assets {
                switch outcomes[asset.key] ?? .failed {
                case .released, .refused:
                    try database.run("DELETE FROM release WHERE asset_key = ?", [.text(asset.key)])
                case .failed:
                    // After a minute, two, four, … up to a day.
                    try database.run(
                        """
                        UPDATE release SET attempts = min(attempts + 1, 11),
                            retry_at = ? + min(60000 << min(attempts, 11), 86400000) WHERE asset_key = ?
                        """, [.integer(now), .text(asset.key)])
                }
            }
        }
    }

    /// Records images of messages that were in memory.
    func release(_ attachments: [MessageAttachment], otherAssets: Set<String>) throws(CloakroomError) {
        let ended = attachments.compactMap { attachment in
            attachment.assetKey.flatMap { key in otherAssets.contains(key) ? nil : (key, attachment.releaseToken) }
        }
        guard !ended.isEmpty else { return }
        let ids = ended.map { ($0.0, $0.1, assetID($0.0)) }
        try database.transaction { database throws(SQLiteError) in
            for (key, token, id) in ids {
                let isLive = try database.first("SELECT 1 FROM attachment WHERE asset_key = ?", [.text(key)]) { _ in
                    true
                }
                guard isLive == nil else { continue }
                try database.run("INSERT INTO ended_asset (id) VALUES (?) ON CONFLICT DO NOTHING", [.blob(id)])
                guard let token else { continue }
                try database.run(
                    "INSERT INTO release (asset_key, token) VALUES (?, ?) ON CONFLICT (asset_key) DO NOTHING",
                    [.text(key), .text(token)])
            }
        }
    }

    /// Whether an image was one of messages that are all gone.
    func hasEnded(assetKey: String) throws(CloakroomError) -> Bool {
        let id = assetID(assetKey)
        return try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM ended_asset WHERE id = ?", [.blob(id)]) { _ in true } ?? false
        }
    }
}
