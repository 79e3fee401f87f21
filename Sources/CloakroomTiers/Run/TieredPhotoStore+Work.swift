import CloakroomKit
import CloakroomSQLite
import Foundation

/// What there is to do.
extension TieredPhotoStore {
    /// Of a photo that failed, at a time in milliseconds; a time that is too far ahead was set by a wrong clock.
    private static let mayBeTriedSQL =
        "(retry_at IS NULL OR retry_at - ? NOT BETWEEN 1 AND \(Int64(retryInterval * 1000)))"

    /// Photos on the device that may leave it by a rule, the oldest first; those that failed are left out until their
    /// time comes.
    func dueIDs(_ rule: DueRule) throws(CloakroomError) -> [Int64] {
        try catalog.ids(
            """
            SELECT id FROM photo WHERE \(PhotoState.localSQL) AND sha256 IS NOT NULL AND \(DueRule.condition)
            AND \(Self.mayBeTriedSQL) ORDER BY retry_at IS NOT NULL, added_at
            """, rule.values + [.integer(clock().milliseconds)]
        ).filter { !leases.isOpen($0) }
    }

    /// Photos that have to leave for the policy's number of bytes, the least recently viewed first.
    func dueByBytes(excluding due: [Int64] = []) throws(CloakroomError) -> [Int64] {
        guard policy.period != .forever, let limit = policy.hotByteLimit else { return [] }
        let excluded = Set(due)
        let leaving = try catalog.photos(due).reduce(0) { $0 + $1.byteCount }
        let local = "SELECT coalesce(sum(byte_count), 0) FROM photo WHERE \(PhotoState.localSQL)"
        var rest = try catalog.count(local) - leaving
        guard rest > limit else { return [] }
        let now = clock()
        let rule = DueRule(addedBefore: nil, viewedBefore: now)
        return try catalog.perform { database throws(SQLiteError) in
            var ids: [Int64] = []
            try database.forEach(
                """
                SELECT id, byte_count FROM photo WHERE \(PhotoState.localSQL) AND sha256 IS NOT NULL AND \(DueRule.condition)
                AND \(Self.mayBeTriedSQL) ORDER BY coalesce(viewed_at, added_at), id
                """, rule.values + [.integer(now.milliseconds)]
            ) { row in
                let id = row.integer(0)
                guard !excluded.contains(id), !leases.isOpen(id) else { return true }
                ids.append(id)
                rest -= row.integer(1)
                return rest > limit
            }
            return ids
        }
    }

    /// Photos that are uploaded whether they may leave the device or not, the oldest first: what keeps a photo here, such as
    /// a pin or the lack of a thumbnail, must not keep it here alone.
    func uploadIDs(at date: Date) throws(CloakroomError) -> [Int64] {
        let late = """
            \(PhotoState.sql(.both)) AND thumbnail_uploaded = 0
            AND EXISTS (SELECT 1 FROM thumbnail WHERE photo = photo.id AND length(bytes) > 0)
            """
        // One that was begun is finished, whatever the policy is by now.
        let new = "(\(PhotoState.sql(.uploading)) OR (\(PhotoState.sql(.hot)) AND added_at <= ?))"
        return try catalog.ids(
            """
            SELECT id FROM photo WHERE (\(new) OR (\(late))) AND sha256 IS NOT NULL AND \(Self.mayBeTriedSQL)
            ORDER BY retry_at IS NOT NULL, added_at
            """, [.integer(policy.uploadLimit(at: date)?.milliseconds ?? .max), .integer(date.milliseconds)])
    }

    /// Snapshots that name what was uploaded, deletions to announce or to do, and a document for a device without one.
    func hasDocumentsToWrite() throws(CloakroomError) -> Bool {
        let now = clock()
        // Longer than that no deletion waits: its announcement has the time of a wrong clock.
        let wait = Int64(DeviceDocuments.announcement * 1000)
        let longestWay = Int64(DeviceDocuments.longestWay * 1000)
        return try catalog.count(
            """
            SELECT EXISTS (SELECT 1 FROM photo WHERE segment IS NULL AND NOT \(PhotoState.sql(.hot)) AND sha256 IS NOT NULL
                    AND tier = (SELECT value FROM setting WHERE name = 'identity'))
                OR EXISTS (SELECT 1 FROM obsolete_document WHERE deleted_at IS NULL)
                OR EXISTS (SELECT 1 FROM tombstone WHERE (intent IS NULL OR announced_at - ? NOT BETWEEN 1 AND \(wait))
                    AND tier = (SELECT value FROM setting WHERE name = 'identity'))
                OR EXISTS (SELECT 1 FROM sent_deletion
                    WHERE ended_at IS NULL OR ended_at - ? NOT BETWEEN 1 AND \(longestWay))
                OR ((SELECT value FROM setting WHERE name = 'snapshot_tier')
                    = (SELECT value FROM setting WHERE name = 'identity') AND \(DeviceDocuments.isAbsentSQL))
            """,
            [
                .integer((now - DeviceDocuments.announcement).milliseconds),
                .integer((now - DeviceDocuments.longestWay).milliseconds),
            ]) != 0
    }

    func isLookDue(at date: Date) throws(CloakroomError) -> Bool {
        let last = try catalog.date(.lastLook) ?? .distantPast
        // A clock that went back does not put it off for ever.
        guard abs(date.timeIntervalSince(last)) >= Self.lookInterval else { return false }
        return try catalog.count("SELECT EXISTS (SELECT 1 FROM photo WHERE tier IS NOT NULL)") != 0
    }

    private static let lookInterval: TimeInterval = 7 * 86_400
}

extension Array {
    /// Of so many that share transactions, listings and snapshots.
    func batches(of size: Int = 256) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
