import CloakroomKit
import CloakroomSQLite
import Foundation

/// What a store remembers of itself: the names in the table `setting`.
enum CatalogSetting: String {
    /// The ``DeviceID``; another one after this device was dismissed, or was copied.
    case device
    /// A ``RetentionPolicy``, as JSON.
    case policy
    /// The ``TierIdentity`` whose photos these are.
    case identity
    /// The inode of the lock, and when it changed: others in a folder that was copied.
    case place
    /// The latest time that the device's clock has shown, in milliseconds.
    case lastSeen
    /// When the cold tier was listed and looked through the last time, in milliseconds.
    case lastLook
    /// When thumbnails that could not be made were attempted again the last time, in milliseconds.
    case lastThumbnailRetry
    /// The catalog is a new one in the place of a damaged one, and not made anew yet.
    case rebuild

    /// The ``TierIdentity`` of the tier that has this device's snapshots.
    case snapshotTier = "snapshot_tier"
    /// The highest sequence of a snapshot that was ever used.
    case snapshotSequence = "snapshot_sequence"
    /// The highest id of a photo that the tier may have, or another device may know of, though its record does not say so.
    case sharedPhoto = "shared_photo"
    /// In bytes: what was published of changes, and all that was written as snapshots.
    case changedBytes = "snapshot_changed_bytes"
    case writtenBytes = "snapshot_written_bytes"
    /// ``KnownDevices``: those that have had snapshots in the tier.
    case knownDevices = "known_devices"
    /// The latest time that the device's clock showed while a deletion waited, where the store tells no time.
    case deletionClock = "deletion_clock"
}

extension SQLiteDatabase {
    /// - Returns: `nil` when it is not set.
    func setting(_ setting: CatalogSetting) throws(SQLiteError) -> String? {
        try first("SELECT value FROM setting WHERE name = ?", [.text(setting.rawValue)]) { $0.text(0) }
    }

    /// - Returns: 0 when it is not set.
    func number(_ setting: CatalogSetting) throws(SQLiteError) -> Int64 {
        try self.setting(setting).flatMap { Int64($0) } ?? 0
    }

    /// - Parameter value: `nil` forgets it.
    func set(_ setting: CatalogSetting, to value: String?) throws(SQLiteError) {
        guard let value else {
            try run("DELETE FROM setting WHERE name = ?", [.text(setting.rawValue)])
            return
        }
        try run(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [.text(setting.rawValue), .text(value)])
    }

    func add(_ amount: Int64, to setting: CatalogSetting) throws(SQLiteError) {
        try set(setting, to: "\(number(setting) + amount)")
    }

    /// See ``Catalog/markAllShared()``.
    func markAllShared() throws(SQLiteError) {
        let last = try first("SELECT max(id) FROM photo") { row in row.integer(0) }
        try set(.sharedPhoto, to: "\(last ?? 0)")
    }

    /// Whether the tier may have a photo, or another device may know of it, though its record does not say so: it says no
    /// more whether a snapshot has ever named the photo. Ids are not given again.
    func isShared(_ id: Int64) throws(SQLiteError) -> Bool {
        // What a catalog knew that was lost is not known yet.
        if try setting(.rebuild) != nil { return true }
        if let last = try setting(.sharedPhoto) { return id <= Int64(last) ?? .max }
        // Earlier versions did not record it.
        return try setting(.snapshotSequence) != nil
    }
}

extension Catalog {
    func setting(_ setting: CatalogSetting) throws(CloakroomError) -> String? {
        try perform { database throws(SQLiteError) in try database.setting(setting) }
    }

    /// - Parameter value: `nil` forgets it.
    func set(_ setting: CatalogSetting, to value: String?) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try database.set(setting, to: value) }
    }

    /// Has all photos that there are now count as ``SQLiteDatabase/isShared(_:)`` from then on.
    func markAllShared() throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try database.markAllShared() }
    }

    func date(_ setting: CatalogSetting) throws(CloakroomError) -> Date? {
        try self.setting(setting).flatMap { Int64($0) }.map { Date(milliseconds: $0) }
    }
}

// MARK: The policy

extension Catalog {
    func policy() throws(CloakroomError) -> RetentionPolicy? {
        try setting(.policy).map { text in
            // One that cannot be read, as of a later version, removes nothing.
            let policy = try? JSONDecoder().decode(RetentionPolicy.self, from: Data(text.utf8))
            return policy ?? RetentionPolicy(period: .forever)
        }
    }

    /// The policy of a catalog that was moved aside: with what is damaged in it, this may be whole.
    ///
    /// - Returns: `nil` when it cannot be read, or has none.
    static func policy(ofDamaged path: String) -> RetentionPolicy? {
        guard let database = try? SQLiteDatabase(at: path) else { return nil }
        defer { database.close() }
        guard let text = try? database.setting(.policy) else { return nil }
        // Of a later version, or damaged: one that removes nothing.
        return (try? JSONDecoder().decode(RetentionPolicy.self, from: Data(text.utf8)))
            ?? RetentionPolicy(period: .forever)
    }

    func setPolicy(_ policy: RetentionPolicy) throws {
        try set(.policy, to: String(decoding: try JSONEncoder().encode(policy), as: UTF8.self))
    }
}

// MARK: Alarms

extension Catalog {
    func alarms() throws(CloakroomError) -> [TierAlarm] {
        try perform { database throws(SQLiteError) in
            try database.rows("SELECT kind, photo_count, example, since FROM alarm ORDER BY since, kind") { row in
                TierAlarm(
                    // One of a later version still stops eviction.
                    kind: TierAlarm.Kind(rawValue: row.text(0)) ?? .changed, photoCount: Int(row.integer(1)),
                    example: row.text(2), since: Date(milliseconds: row.integer(3)))
            }
        }
    }

    /// An alarm of the same kind keeps its date, and the larger number.
    func raise(_ kind: TierAlarm.Kind, photoCount: Int, example: String, on date: Date) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in
            try database.run(
                """
                INSERT INTO alarm (kind, photo_count, example, since) VALUES (?, ?, ?, ?)
                ON CONFLICT (kind) DO UPDATE SET photo_count = max(photo_count, excluded.photo_count)
                """,
                [.text(kind.rawValue), SQLiteValue(photoCount), .text(example), .integer(date.milliseconds)])
        }
    }

    func removeAlarm(_ kind: TierAlarm.Kind) throws(CloakroomError) {
        try perform { database throws(SQLiteError) in
            try database.run("DELETE FROM alarm WHERE kind = ?", [.text(kind.rawValue)])
        }
    }
}
