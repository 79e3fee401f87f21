import CloakroomKit
import CloakroomSQLite
import Foundation

/// Deletions in the tier that were sent, and may still be on their way.
///
/// Each is in the catalog before it is sent. As long as it is there, its intent stays, so no device lets a file of the
/// photo go, this one included: see ``DueRule``.
extension DeviceDocuments {
    /// No request is on its way for longer than that after the call that sent it has ended, in seconds: eight days.
    ///
    /// Seven days are the longest that a part of the way keeps one: so long the system's services work on a request,
    /// also after the end of the app (`timeoutIntervalForResource` of `URLSessionConfiguration` and of `CKOperation`:
    /// 7 days by default, Apple's documentation), and so long the longest signature is valid (`X-Amz-Expires` of AWS
    /// Signature Version 4: 604800 seconds; one in a header for 15 minutes). One more is for clocks that differ.
    static let longestWay: TimeInterval = 8 * 86_400

    /// Before they are sent.
    func markSent(_ photos: [PhotoDescriptor]) throws(CloakroomError) {
        guard !photos.isEmpty else { return }
        try catalog.transaction { database throws(SQLiteError) in
            for photo in photos {
                let former = try database.first(
                    "SELECT intent FROM sent_deletion WHERE md5 = ?", [.blob(photo.md5)]
                ) { $0.textIfPresent(0) }
                try database.run(
                    """
                    INSERT OR REPLACE INTO sent_deletion (md5, tier, intent)
                    SELECT md5, tier, intent FROM tombstone WHERE md5 = ?
                    """, [.blob(photo.md5)])
                guard let intent = former ?? nil, try !database.intents().contains(intent) else { continue }
                try database.markObsolete(intent)
            }
        }
    }

    /// Records since when nothing is being sent any more, for deletions of which that is not known: also those of a process
    /// that ended while it sent them.
    ///
    /// - Parameter listing: which one of this process shows it.
    /// - Parameter date: of that listing.
    func noteSilence(after listing: Int, _ date: Date) throws(CloakroomError) {
        guard listing > listingsBeforeSilence else { return }
        try catalog.perform { database throws(SQLiteError) in
            try database.run(
                "UPDATE sent_deletion SET ended_at = ? WHERE ended_at IS NULL", [.integer(date.milliseconds)])
        }
    }

    /// Forgets deletions that cannot be on their way any more.
    ///
    /// A photo that was added again may have lost its thumbnail in the tier by one: that is uploaded again. The photo
    /// itself is proven again before it leaves.
    func endSentDeletions(_ survey: DeviceSurvey) throws(CloakroomError) {
        try noteSilence(after: survey.number, survey.date)
        if !survey.isServerDate {
            guard try isDeviceClockTrusted() else { return }
        }
        let limit = survey.date.addingTimeInterval(-Self.longestWay).milliseconds
        try catalog.transaction { database throws(SQLiteError) in
            let photos = try database.rows(
                "SELECT md5 FROM sent_deletion WHERE ended_at <= ?", [.integer(limit)]
            ) { row in row.blob(0) }
            guard !photos.isEmpty else { return }
            let before = try database.intents()
            for md5 in photos {
                try database.run("DELETE FROM sent_deletion WHERE md5 = ?", [.blob(md5)])
                try database.run("UPDATE photo SET thumbnail_uploaded = 0 WHERE md5 = ?", [.blob(md5)])
            }
            let left = Set(try database.intents())
            for intent in before where !left.contains(intent) { try database.markObsolete(intent) }
        }
    }

    /// Of these photos, those whose deletion may be on its way, from this device or another one: where they are on this
    /// device, it is no loss that the tier does not have them.
    func withDeletionUnderWay(_ rows: [PhotoRow]) throws(CloakroomError) -> Set<Int64> {
        let announced = intents.values.reduce(into: Set<[UInt8]>()) { $0.formUnion($1) }
        return try catalog.perform { database throws(SQLiteError) in
            var found: Set<Int64> = []
            for row in rows {
                let isSent = try database.first("SELECT 1 FROM sent_deletion WHERE md5 = ?", [.blob(row.md5)]) { _ in
                    true
                }
                if isSent != nil || announced.contains(row.md5) { found.insert(row.id) }
            }
            return found
        }
    }
}

extension SQLiteDatabase {
    /// The documents that announce deletions that may be on their way.
    func sentIntents() throws(SQLiteError) -> [String] {
        try rows("SELECT DISTINCT intent FROM sent_deletion WHERE intent IS NOT NULL") { row in row.text(0) }
    }
}
