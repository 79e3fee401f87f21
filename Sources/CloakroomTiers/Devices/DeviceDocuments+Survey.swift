import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// An upload is in a listing after so long, on stores whose listings lag behind.
    private static let listingLag: TimeInterval = 3_600

    /// What other devices are going to delete, by one listing and the intents that are new since the last survey.
    ///
    /// It is read after the own snapshot was published: see ``advanceDeletions(_:)`` for why. What cannot be read is an
    /// error, and then nothing may leave the device.
    func survey() async throws -> DeviceSurvey {
        try await gate.through {
            let before = try knownDocuments()
            let (listing, number) = try await listWithDate()
            try await checkOwnDocuments(in: listing, knownBefore: before)
            _ = try vanishedDevices(in: listing)
            var announced: Set<[UInt8]> = []
            var read: [String: Set<[UInt8]>] = [:]
            for intent in listing.intents where intent.device != device {
                if try await isLongDismissed(intent.device, in: listing) { continue }
                if intents[intent.name] == nil { intents[intent.name] = try await self.read(intent) }
                read[intent.name] = intents[intent.name]
                announced.formUnion(intents[intent.name] ?? [])
            }
            intents = read
            return DeviceSurvey(
                date: date(of: listing), isServerDate: listing.date != nil, announcedDeletions: announced,
                isDismissed: listing.dismissals[device] != nil, ownIntents: listing.ownIntents(of: device),
                intents: Set(listing.intents.map(\.name)), number: number)
        }
    }

    /// CloudKit tells the time with what is saved, so a process that has saved nothing yet saves a document that says
    /// nothing: a device's clock that is wrong would have photos deleted, and leave the device, too early.
    private func listWithDate() async throws -> (listing: DeviceListing, number: Int) {
        let first = try await list()
        guard first.listing.date == nil, !hasLearnedTime else { return first }
        do {
            try await tier.putDocument(
                SealedDocument.bytes(of: Data("{}".utf8)), named: DeviceDocumentName.clock(device).text)
        } catch {
            // Over quota nothing can be written, and deletions make room.
            guard CloakroomError(of: error).code == .storageQuotaExceeded else { throw error }
            return first
        }
        hasLearnedTime = true
        return try await list()
    }

    /// By the store's clock; where it does not say, by the device's, but no earlier than what is there was written.
    func date(of listing: DeviceListing) -> Date {
        listing.date ?? max(clock(), listing.lastModified ?? .distantPast)
    }

    /// - Returns: nothing, when it was withdrawn since the listing: then the photo is proven after that.
    func read(
        _ intent: (name: String, device: DeviceID, document: DocumentListing.Document)
    ) async throws -> Set<[UInt8]> {
        guard intent.document.byteCount <= SharedDocumentRules.maximumBytes else {
            throw IntentDocument.tooLarge(intent.name)
        }
        return Set(try await read(intent.name, IntentDocument.self)?.photos ?? [])
    }

    /// A device may be suspended while it sends a deletion, in seconds: a year.
    private static let longestRequest: TimeInterval = 366 * 86_400

    /// Whether a device was given up so long ago that none of its deletions can still be on its way: it would have seen
    /// that in the listing it makes before each.
    private func isLongDismissed(_ device: DeviceID, in listing: DeviceListing) async throws -> Bool {
        guard let since = listing.dismissals[device], let now = listing.date,
            now.timeIntervalSince(since) >= Self.longestRequest
        else { return false }
        return try await isDismissed(device, in: listing)
    }

    /// Compares the store's documents of this device with the catalog's.
    ///
    /// One that is not there any more names nothing: its photos are published again before they may leave the device.
    /// One that this catalog never wrote is another device's, which began with a copy of this one, such as from the
    /// phone's backup: they would delete each other's. So this one begins anew under a new name, and leaves all
    /// documents to the other.
    private func checkOwnDocuments(
        in listing: DeviceListing, knownBefore: [String: (sequence: Int64, isConfirmed: Bool)]
    ) async throws {
        let known = try knownDocuments()
        let listed = Dictionary(
            (listing.snapshots[device] ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var unknown: [String] = []
        for name in listed.keys where known[name] == nil && knownBefore[name] == nil { unknown.append(name) }
        for name in unknown {
            let isObsolete = try catalog.perform { database throws(SQLiteError) in
                try database.first("SELECT 1 FROM obsolete_document WHERE name = ?", [.text(name)]) { _ in true }
                    ?? false
            }
            guard isObsolete else { return try changeDevice(deletingDocuments: false) }
            // It is deleted again: its upload arrived after its deletion, or the listing is old.
            try catalog.perform { database throws(SQLiteError) in
                try database.run(
                    "UPDATE obsolete_document SET deleted_at = NULL WHERE name = ? AND deleted_at IS NOT NULL",
                    [.text(name)])
            }
        }
        let now = clock()
        for (name, document) in known where document.isConfirmed && knownBefore[name]?.isConfirmed == true {
            let age = now.timeIntervalSince(Date(milliseconds: document.sequence))
            // One from a time to come was published by a wrong clock.
            guard listed[name] == nil, abs(age) > Self.listingLag else { continue }
            try catalog.transaction { database throws(SQLiteError) in
                let values: [SQLiteValue] = [.integer(document.sequence)]
                try database.run("UPDATE photo SET segment = NULL WHERE segment = ?", values)
                try database.run("UPDATE removal SET segment = NULL WHERE segment = ?", values)
                try database.run("DELETE FROM segment WHERE sequence = ?", values)
                try database.markObsolete(name)
            }
        }
    }
}

extension DeviceListing {
    /// When each was written.
    func ownIntents(of device: DeviceID) -> [String: Date] {
        Dictionary(
            intents.filter { $0.device == device }.map { ($0.name, $0.document.modified) },
            uniquingKeysWith: { first, _ in first })
    }
}
