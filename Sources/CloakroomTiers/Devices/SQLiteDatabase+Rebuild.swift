import CloakroomCrypto
import CloakroomSQLite
import Foundation

extension SQLiteDatabase {
    /// Adds a photo that devices name to the catalog, or what they say of it to its row.
    ///
    /// Of several devices the one that published last tells the dates, and each adds its names. A name that the
    /// catalog has for another photo stays that one's. What the user has removed since ``RebuildStaging/finish()`` is left
    /// out as there.
    ///
    /// - Parameter device: this one.
    func mergeRebuilt(
        _ photo: [UInt8], tier: TierIdentity, device: DeviceID, _ report: inout RebuildReport
    ) throws(SQLiteError) {
        let named = try first(
            """
            SELECT \(SnapshotEntry.columns) FROM named_photo WHERE photo = ?1
                AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.md5 = named_photo.md5)
                AND NOT (device = ?2 AND EXISTS (SELECT 1 FROM removal WHERE removal.photo = ?1))
            ORDER BY sequence DESC LIMIT 1
            """, [.blob(photo), .text(device.rawValue)]
        ) { SnapshotEntry($0) }
        guard let named, let id = try row(for: named, tier: tier, &report) else { return }
        // What this device has published lags behind its catalog: a name that was removed may be in it still.
        let names = try rows(
            """
            SELECT DISTINCT name FROM named_name WHERE photo = ?1
                AND NOT (device = ?2 AND EXISTS (SELECT 1 FROM photo_name WHERE photo_name.photo = ?3)) ORDER BY name
            """, [.blob(photo), .text(device.rawValue), .integer(id)]
        ) { row in row.text(0) }
        for name in names {
            let owner = try first("SELECT photo FROM photo_name WHERE name = ?", [.text(name)]) { row in row.integer(0)
            }
            guard let owner else {
                try run("INSERT INTO photo_name (name, photo) VALUES (?, ?)", [.text(name), .integer(id)])
                continue
            }
            if owner != id { report.nameConflicts += 1 }
        }
    }

    /// - Returns: the photo's row; `nil` when it gets none.
    private func row(
        for named: SnapshotEntry, tier: TierIdentity, _ report: inout RebuildReport
    ) throws(SQLiteError) -> Int64? {
        if let sha256 = named.sha256 {
            if let id = try first("SELECT id FROM photo WHERE sha256 = ?", [.blob(sha256)], read: { $0.integer(0) }) {
                try setDates(of: named, toPhotoWithoutName: id)
                return id
            }
            let values: [SQLiteValue] = [.blob(named.md5), .integer(named.byteCount)]
            let unread = "SELECT id FROM photo WHERE sha256 IS NULL AND md5 = ? AND byte_count = ?"
            if let id = try first(unread, values, read: { $0.integer(0) }) {
                try run(
                    "UPDATE photo SET sha256 = ?, format = ?, verified_at = ifnull(verified_at, 0) WHERE id = ?",
                    [.blob(sha256), .text(named.format), .integer(id)])
                try setDates(of: named, toPhotoWithoutName: id)
                return id
            }
        } else if let id = try first("SELECT id FROM photo WHERE md5 = ?", [.blob(named.md5)], read: { $0.integer(0) })
        {
            return id
        }
        let key = try first(
            "SELECT key FROM listed_object WHERE md5 = ? AND byte_count = ?",
            [.blob(named.md5), .integer(named.byteCount)]
        ) { row in row.text(0) }
        // Of what was never read and is not listed there is nothing to show.
        guard key != nil || named.sha256 != nil else { return nil }
        let state = key == nil ? PhotoState.missing : .cold
        if state == .missing { report.missing += 1 }
        try run(
            """
            INSERT INTO photo (sha256, md5, byte_count, format, taken_at, added_at, pinned, state, tier, remote_key,
                verified_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                SQLiteValue(named.sha256), .blob(named.md5), .integer(named.byteCount), .text(named.format),
                .integer(named.takenAt), .integer(named.addedAt), .integer(named.isPinned ? 1 : 0),
                .integer(state.rawValue), .text(tier.description), .text(key ?? named.md5.hexadecimal),
                named.sha256 == nil ? .null : 0,
            ])
        return try first("SELECT last_insert_rowid()") { row in row.integer(0) }
    }

    /// A row without a name was adopted from a file or a listing, so its dates are guesses.
    private func setDates(of named: SnapshotEntry, toPhotoWithoutName id: Int64) throws(SQLiteError) {
        try run(
            """
            UPDATE photo SET taken_at = ?, added_at = ?, pinned = max(pinned, ?) WHERE id = ?
                AND NOT EXISTS (SELECT 1 FROM photo_name WHERE photo = photo.id)
            """,
            [
                .integer(named.takenAt), .integer(named.addedAt), .integer(named.isPinned ? 1 : 0), .integer(id),
            ])
    }
}
