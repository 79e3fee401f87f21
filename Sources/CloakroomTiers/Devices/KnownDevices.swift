import CloakroomKit
import CloakroomSQLite
import Foundation

/// The devices that have had snapshots in a tier, as far as this one has seen, and were not given up.
///
/// Those of one tier say nothing of another: after a change of the account the devices of the former one are not missed.
struct KnownDevices: Sendable, Equatable {
    /// By the identity of the tier: when each device published last, in milliseconds since 1970, by the store's clock.
    private var tiers: [String: [String: Int64]]

    /// - Parameters:
    ///   - text: as ``text(in:)`` writes it, or ids with blanks between them, as earlier versions wrote them.
    ///   - tier: whose devices the ids of earlier versions are.
    init(_ text: String, tier: String) {
        if let tiers = try? JSONDecoder().decode([String: [String: Int64]].self, from: Data(text.utf8)) {
            self.tiers = tiers
        } else {
            let ids = text.split(separator: " ").filter { DeviceID(rawValue: String($0)) != nil }
            tiers = [tier: Dictionary(ids.map { (String($0), 0) }, uniquingKeysWith: { first, _ in first })]
        }
    }

    /// When each device of a tier published last; 1970 where that was not noted.
    subscript(tier: String) -> [DeviceID: Int64] {
        get {
            let known = (tiers[tier] ?? [:]).compactMap { id, date in DeviceID(rawValue: id).map { ($0, date) } }
            return Dictionary(known, uniquingKeysWith: { first, _ in first })
        }
        set {
            let known = newValue.map { id, date in (id.rawValue, date) }
            tiers[tier] = newValue.isEmpty ? nil : Dictionary(known, uniquingKeysWith: { first, _ in first })
        }
    }

    func text() throws(CloakroomError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return String(decoding: try encoder.encode(tiers), as: UTF8.self) } catch {
            throw CloakroomError(.storeFailed, "the devices that are known cannot be recorded: \(error)")
        }
    }
}

extension DeviceDocuments {
    /// When each device that was not given up published last, in milliseconds since 1970: by the listing, and for devices
    /// that have no snapshot in it by what was seen before. This device is none of them.
    func otherDevices(in listing: DeviceListing) throws(CloakroomError) -> [DeviceID: Int64] {
        let present = listing.snapshots.compactMapValues { $0.map(\.modified.milliseconds).max() }
        let tier = try currentTier()
        let all = try knownDevices(of: tier)[tier].merging(present) { _, last in last }
        return all.filter { id, _ in listing.dismissals[id] == nil && id != device }
    }

    /// Devices that had snapshots once and have none now, though they were not given up: what they rely on is not known
    /// any more, as when a rule of the store deleted their documents.
    ///
    /// What the listing shows is recorded, see ``StorageUsage/absentDevices``.
    func vanishedDevices(in listing: DeviceListing) throws(CloakroomError) -> [DeviceID] {
        let tier = try currentTier()
        var known = try knownDevices(of: tier)
        let others = try otherDevices(in: listing)
        if known[tier] != others {
            known[tier] = others
            try catalog.set(.knownDevices, to: try known.text())
        }
        let vanished = others.keys.filter { listing.snapshots[$0] == nil }.sorted { $0.rawValue < $1.rawValue }
        try note(absent: others.filter { listing.snapshots[$0.key] == nil }, of: tier, on: date(of: listing))
        return vanished
    }

    /// Records which devices have no documents, each with the date when that was seen first.
    private func note(absent: [DeviceID: Int64], of tier: String, on date: Date) throws(CloakroomError) {
        let known = try catalog.absentDevices(of: tier)
        guard Set(known.map(\.id)) != Set(absent.keys) else { return }
        try catalog.transaction { database throws(SQLiteError) in
            for device in known where absent[device.id] == nil {
                try database.run(
                    "DELETE FROM absent_device WHERE tier = ? AND device = ?",
                    [.text(tier), .text(device.id.rawValue)])
            }
            for (id, published) in absent {
                try database.run(
                    "INSERT OR IGNORE INTO absent_device (tier, device, published_at, since) VALUES (?, ?, ?, ?)",
                    [.text(tier), .text(id.rawValue), .integer(published), .integer(date.milliseconds)])
            }
        }
    }

    /// After a device was given up.
    func forgetAbsent(_ id: DeviceID) throws(CloakroomError) {
        try catalog.perform { database throws(SQLiteError) in
            try database.run("DELETE FROM absent_device WHERE device = ?", [.text(id.rawValue)])
        }
    }

    private func knownDevices(of tier: String) throws(CloakroomError) -> KnownDevices {
        KnownDevices(try catalog.setting(.knownDevices) ?? "", tier: tier)
    }

    /// Whose documents are listed.
    private func currentTier() throws(CloakroomError) -> String {
        if let identity = try catalog.setting(.identity) { return identity }
        return try catalog.setting(.snapshotTier) ?? ""
    }
}

extension Catalog {
    /// The longest absent first.
    func absentDevices(of tier: String) throws(CloakroomError) -> [AbsentDevice] {
        let found = try perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT device, published_at, since FROM absent_device WHERE tier = ? ORDER BY since, device",
                [.text(tier)]
            ) { row in
                DeviceID(rawValue: row.text(0)).map {
                    AbsentDevice(
                        id: $0, lastPublished: Date(milliseconds: row.integer(1)),
                        since: Date(milliseconds: row.integer(2)))
                }
            }
        }
        return found.compactMap { $0 }
    }
}
