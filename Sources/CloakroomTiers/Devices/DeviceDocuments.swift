import CloakroomKit
import CloakroomSQLite
import Foundation

/// What a store shares with the stores of the user's other devices: snapshots of catalogs, and intents to delete.
///
/// Owned by one actor, as its catalog is.
final class DeviceDocuments {
    let catalog: Catalog
    let tier: any ColdTier
    let clock: @Sendable () -> Date
    /// Another one after this device was dismissed, or was copied.
    private(set) var device: DeviceID
    let gate = SerialGate()

    /// Intents of other devices by the documents' names, under which they do not change.
    var intents: [String: Set<[UInt8]>] = [:]
    /// How many listings were begun.
    var listingCount = 0
    /// After how many listings an intent of this process was written: an earlier listing does not show it.
    var announcements: [String: Int] = [:]
    /// Something was written to learn the store's time.
    var hasLearnedTime = false
    /// How many listings were begun when the last deletion of this process ended: a later one shows when.
    var listingsBeforeSilence = 0

    init(catalog: Catalog, tier: any ColdTier, device: DeviceID, clock: @escaping @Sendable () -> Date) {
        self.catalog = catalog
        self.tier = tier
        self.device = device
        self.clock = clock
    }

    func list() async throws -> (listing: DeviceListing, number: Int) {
        listingCount += 1
        let number = listingCount
        return (try DeviceListing(try await tier.documents()), number)
    }

    /// - Returns: `nil` when it is surely absent.
    /// - Throws: ``CloakroomError/Code/storeFailed`` for one that is damaged, here or in the tier; what the tier throws.
    func read<Document: SharedDocument>(_ name: String, _: Document.Type) async throws -> Document? {
        do {
            guard let bytes = try await tier.document(named: name) else { return nil }
            return try Document(bytes, named: name)
        } catch let error as CloakroomError where error.code == .checksumMismatch || error.code == .archived {
            throw CloakroomError(.storeFailed, "\(name) cannot be read: \(error)")
        }
    }

    /// Whether a device is given up: the document is read, as a damaged one dismisses no device.
    func isDismissed(_ device: DeviceID, in listing: DeviceListing) async throws -> Bool {
        guard listing.dismissals[device] != nil else { return false }
        let name = DeviceDocumentName.dismissed(device).text
        guard let dismissal = try await read(name, DismissalDocument.self) else { return false }
        guard dismissal.device == device else {
            throw CloakroomError(.storeFailed, "\(name) dismisses another device than it says")
        }
        return true
    }

    /// Goes on as the device that the catalog names: another process may have changed it.
    func adopt(_ device: DeviceID) { self.device = device }

    /// Begins anew as another device: no snapshot names anything yet.
    ///
    /// - Parameter deletingDocuments: those of the old device are deleted as soon as new ones name the same.
    func changeDevice(deletingDocuments: Bool) throws(CloakroomError) {
        let new = DeviceID.random()
        let old = device
        try catalog.transaction { database throws(SQLiteError) in
            try database.set(.device, to: new.rawValue)
            if deletingDocuments {
                let sequences = try database.rows("SELECT sequence FROM segment") { row in row.integer(0) }
                for sequence in sequences {
                    try database.markObsolete(DeviceDocumentName.snapshot(old, sequence: sequence).text)
                }
                // What may be on its way still keeps its announcement, which stays that of the old device.
                let sent = Set(try database.sentIntents())
                for intent in try database.intents() where !sent.contains(intent) { try database.markObsolete(intent) }
            } else {
                // The documents are another device's, or in another tier.
                try database.run("UPDATE sent_deletion SET intent = NULL")
            }
            try database.run("UPDATE photo SET segment = NULL WHERE segment IS NOT NULL")
            try database.run("DELETE FROM segment")
            try database.run("DELETE FROM removal")
            try database.run("UPDATE tombstone SET intent = NULL, announced_at = NULL")
        }
        device = new
    }
}

extension SQLiteDatabase {
    /// The documents that announce deletions of this device, those included that may have been done long ago.
    func intents() throws(SQLiteError) -> [String] {
        try rows(
            """
            SELECT intent FROM tombstone WHERE intent IS NOT NULL
            UNION SELECT intent FROM sent_deletion WHERE intent IS NOT NULL
            """
        ) { row in row.text(0) }
    }

    func markObsolete(_ document: String) throws(SQLiteError) {
        try run("INSERT OR REPLACE INTO obsolete_document (name) VALUES (?)", [.text(document)])
    }
}
