import CloakroomKit
import CloakroomSQLite
import Foundation

/// The images that the bucket is to delete: recorded by purges, and sent when the network is there.
extension SQLiteMessageStorage {
    /// - Parameters:
    ///   - now: by the device's time, which cannot be set: only it decides when one is tried again.
    ///   - retry: also those that have failed a short time ago; one that was refused waits for its day all the same.
    ///   - last: what was sent last, in the order of the names; `nil` to begin.
    func releases(
        now: Milliseconds, retry: Bool, after last: String? = nil, limit: Int
    ) throws(CloakroomError) -> [ImageRelease] {
        let isDue = "(retry_at <= ?1 OR \(Self.isBeyond))"
        let isTime = retry ? "(\(isDue) OR retry_at < \(Self.held) AND attempts <= \(Self.mostAttempts))" : isDue
        return try database.perform { database throws(SQLiteError) in
            try database.rows(
                """
                SELECT asset_key, token FROM release WHERE not_before <= ?1 AND \(isTime) AND asset_key > ?2
                ORDER BY asset_key LIMIT ?3
                """, [.integer(now), .text(last ?? ""), SQLiteValue(limit)]
            ) { ImageRelease(objectKey: $0.text(0), releaseToken: $0.text(1)) }
        }
    }

    /// Whether a stored message of the reader's, whose name is bound as the second value, has the image of a release.
    static let isStored = """
        EXISTS (SELECT 1 FROM attachment CROSS JOIN message ON message.seq = attachment.message
            WHERE attachment.asset_key = release.asset_key AND author = ?2)
        """

    /// Until the next image can be released; `nil` when there is none.
    func releasesRemaining(now: Milliseconds) throws(CloakroomError) -> Milliseconds? {
        try database.perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT min(max(CASE WHEN \(Self.isBeyond) THEN ?1 ELSE retry_at END, not_before)) FROM release
                WHERE retry_at < \(Self.held)
                """, [.integer(now)]
            ) { $0.integerIfPresent(0) } ?? nil
        }.map { max(0, $0.minus(now)) }
    }

    /// Later than any attempt is set for, as when the record of the time was lost.
    private static let isBeyond = "retry_at > ?1 + 86400000 AND retry_at < \(held)"

    /// Records what became of them.
    ///
    /// - Parameter results: what is missing of `images` has not been sent.
    func finish(
        _ images: [ImageRelease], _ results: [ImageReleaseResult], now: Milliseconds
    ) throws(CloakroomError) {
        let outcomes = Dictionary(results.map { ($0.objectKey, $0.outcome) }) { first, _ in first }
        let next = "min(attempts + 1, \(Self.mostAttempts))"
        try database.transaction { database throws(SQLiteError) in
            for image in images {
                let key = SQLiteValue.text(image.objectKey)
                switch outcomes[image.objectKey] {
                case .released?: try database.run("DELETE FROM release WHERE asset_key = ?", [key])
                // A worker that does not know the key of the token yet, or any more, refuses it, too.
                case .refused?:
                    try database.run(
                        "DELETE FROM release WHERE asset_key = ? AND attempts >= ?",
                        [key, SQLiteValue(Self.mostAttempts + Self.mostRefusals)])
                    try Self.postpone(key, "max(attempts, \(Self.mostAttempts)) + 1", by: "86400000", now, in: database)
                // After a minute, two, four, … up to a day.
                case .failed?:
                    try Self.postpone(
                        key, next, by: "min(60000 << min(attempts, \(Self.mostAttempts)), 86400000)", now, in: database)
                // As without a network, which may be there again soon: up to a quarter of an hour.
                case nil:
                    try Self.postpone(key, next, by: "min(60000 << min(attempts, 4), 900000)", now, in: database)
                }
            }
        }
    }

    /// After so many, the time between them does not grow any more.
    private static let mostAttempts = 11
    /// Once a day each: after these the bucket's own rule has ended the image, or a copy of the app has no right to.
    private static let mostRefusals = 30

    /// One that waits for another message by now goes on waiting.
    private static func postpone(
        _ key: SQLiteValue, _ attempts: String, by delay: String, _ now: Milliseconds, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            """
            UPDATE release SET attempts = \(attempts), retry_at = ?1 + \(delay)
            WHERE asset_key = ?2 AND retry_at < \(held)
            """, [.integer(now), key])
    }

    /// Whether an image was one of messages that are all gone.
    func hasEnded(assetKey: String) throws(CloakroomError) -> Bool {
        let id = assetID(assetKey)
        return try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM ended_asset WHERE id = ?", [.blob(id)]) { _ in true } ?? false
        }
    }
}
