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
    /// Its documents stay: a catalog that is made anew finds the names in them. Should it come back, it begins as
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
        let document = DismissalDocument(device: other, dismissedBy: device)
        try await tier.putDocument(try document.encoded(), named: DeviceDocumentName.dismissed(other).text)
        try forgetAbsent(other)
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
