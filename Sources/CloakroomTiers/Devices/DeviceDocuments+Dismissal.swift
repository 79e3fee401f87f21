import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// The devices that have published something and were not given up, latest first; also those whose documents are gone.
    func devices() async throws -> [PhotoDevice] {
        let (listing, _) = try await list()
        var published = try otherDevices(in: listing).mapValues { Date(milliseconds: $0) }
        published[device] = listing.snapshots[device]?.map(\.modified).max()
        // What one announces keeps photos on all devices, also when it has published nothing else.
        for intent in listing.intents where published[intent.device] == nil {
            published[intent.device] = intent.document.modified
        }
        let devices = published.filter { listing.dismissals[$0.key] == nil }.map { id, date in
            PhotoDevice(
                id: id, isThisOne: id == device, lastPublished: date,
                snapshotBytes: (listing.snapshots[id] ?? []).reduce(0) { $0 + Int64($1.byteCount) })
        }
        return devices.sorted { ($1.lastPublished, $1.id.rawValue) < ($0.lastPublished, $0.id.rawValue) }
    }

    /// Gives a device up: what only it names may be deleted.
    ///
    /// What it has announced to delete this device deletes, as the other one may not be there any more to do it. Its
    /// documents stay: a catalog that is made anew finds the names in them. Should it come back, it begins as
    /// another device, see ``becomeNewDevice()``.
    func dismiss(_ other: DeviceID) async throws {
        guard other != device else {
            throw CloakroomError(.invalidRequest, "a device cannot give itself up")
        }
        let (listing, _) = try await list()
        guard listing.dismissals[other] == nil else { return }
        let isKnown = try otherDevices(in: listing)[other] != nil
        guard isKnown || listing.intents.contains(where: { $0.device == other }) else {
            throw CloakroomError(.notFound, "no device of the user has this id")
        }
        // First: a dismissal that is there already is not repeated.
        try await takeOverDeletions(of: other, in: listing)
        let document = DismissalDocument(device: other, dismissedBy: device)
        try await tier.putDocument(try document.encoded(), named: DeviceDocumentName.dismissed(other).text)
        try forgetAbsent(other)
    }

    /// Has this device announce and delete what another one has announced, as if it had been removed here.
    ///
    /// An announcement stays also for photos that were added again. So photos that any device names are left out, be it
    /// one that was given up. Where a document is gone or cannot be read all are: a device can be given up all the same.
    private func takeOverDeletions(of other: DeviceID, in listing: DeviceListing) async throws {
        var listing = listing
        for _ in 0..<Self.maximumListings {
            let intents = listing.intents.filter { $0.device == other }
            guard !intents.isEmpty, try vanishedDevices(in: listing).isEmpty else { return }
            do {
                var announced: Set<[UInt8]> = []
                for intent in intents { announced.formUnion(try await read(intent)) }
                if let known = try await photos(in: listing) {
                    return try await markRemoved(announced.subtracting(known.named))
                }
            } catch let error as CloakroomError {
                guard error.code == .storeFailed else { throw error }
                return
            }
            // A document was replaced since the listing.
            listing = try await list().listing
        }
    }

    /// - Parameter photos: by MD5, which is their name in the tier.
    private func markRemoved(_ photos: Set<[UInt8]>) async throws {
        let identity = try await tier.identity
        let now = clock().milliseconds
        try catalog.transaction { database throws(SQLiteError) in
            for md5 in photos {
                try database.run(
                    """
                    INSERT OR IGNORE INTO tombstone (md5, sha256, byte_count, format, tier, removed_at)
                    SELECT ?1, X'', 0, 'dat', ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM photo WHERE photo.md5 = ?1)
                    """, [.blob(md5), .text(identity.description), .integer(now)])
            }
        }
    }

    /// After this device was given up by another one: what it has is published anew, under a new name, and the documents
    /// of the old name are deleted afterwards.
    ///
    /// Nothing is lost by it, but photos that the user removed on other devices meanwhile may be gone from the tier. The
    /// dismissal itself stays: documents of the old name that come to light later name nothing.
    func becomeNewDevice() async throws {
        try await gate.through {
            try changeDevice(deletingDocuments: true)
            try await publishAll()
        }
    }
}
