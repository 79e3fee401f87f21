import CloakroomKit
import CloakroomSQLite
import Foundation

/// The images that the bucket is to delete: recorded by purges, and sent when the network is there.
extension SQLiteMessageStorage {
    /// - Parameter now: by the device's time, which cannot be set: only it decides when one is tried again.
    func releases(now: Milliseconds, limit: Int) throws(CloakroomError) -> [ImageRelease] {
        try database.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT asset_key, token FROM release WHERE retry_at <= ?1 OR \(Self.isBeyond) ORDER BY retry_at LIMIT ?2
                """, [.integer(now), SQLiteValue(limit)]
            ) { ImageRelease(objectKey: $0.text(0), releaseToken: $0.text(1)) }
        }
    }

    /// Until the next image can be released; `nil` when there is none.
    func releasesRemaining(now: Milliseconds) throws(CloakroomError) -> Milliseconds? {
        try database.perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT min(CASE WHEN \(Self.isBeyond) THEN ?1 ELSE retry_at END) FROM release WHERE retry_at < \(Self.held)
                """, [.integer(now)]
            ) { $0.integerIfPresent(0) } ?? nil
        }.map { max(0, $0.minus(now)) }
    }

    /// Later than any attempt is set for, as when the record of the time was lost.
    private static let isBeyond = "retry_at > ?1 + 86400000 AND retry_at < \(held)"

    /// Records what became of them.
    ///
    /// - Parameter results: what is missing of `images` has failed.
    func finish(
        _ images: [ImageRelease], _ results: [ImageReleaseResult], now: Milliseconds
    ) throws(CloakroomError) {
        let outcomes = Dictionary(results.map { ($0.objectKey, $0.outcome) }) { first, _ in first }
        try database.transaction { database throws(SQLiteError) in
            for image in images {
                switch outcomes[image.objectKey] {
                case .released?, .refused?:
                    try database.run("DELETE FROM release WHERE asset_key = ?", [.text(image.objectKey)])
                case .failed?, nil:
                    // One that waits for a message in memory by now goes on waiting. After a minute, two, four, … up to a day.
                    try database.run(
                        """
                        UPDATE release SET attempts = min(attempts + 1, 11),
                            retry_at = ? + min(60000 << min(attempts, 11), 86400000)
                        WHERE asset_key = ? AND retry_at < \(Self.held)
                        """, [.integer(now), .text(image.objectKey)])
                }
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
