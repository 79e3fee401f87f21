import CloakroomKit
import Foundation

/// The documents of a listing, by device.
struct DeviceListing: Sendable {
    struct Snapshot: Sendable {
        var name: String
        var sequence: Int64
        var byteCount: Int64
        var modified: Date
    }

    /// Of each device, in the order of their sequences.
    var snapshots: [DeviceID: [Snapshot]] = [:]
    var intents: [(name: String, device: DeviceID, document: DocumentListing.Document)] = []
    /// When each was given up.
    var dismissals: [DeviceID: Date] = [:]
    /// By the store's clock; `nil` where it does not say.
    var date: Date?
    /// When the last of all documents was written, by the store's clock: it is later than that now.
    var lastModified: Date?

    /// - Throws: ``CloakroomError/Code/storeFailed`` for more documents than devices can have written.
    init(_ listing: DocumentListing) throws(CloakroomError) {
        guard listing.documents.count <= SharedDocumentRules.maximumDocuments else {
            throw CloakroomError(.storeFailed, "there are more documents than the user's devices write")
        }
        date = listing.date
        lastModified = listing.documents.map(\.modified).max()
        for document in listing.documents {
            switch DeviceDocumentName(document.name) {
            case .snapshot(let device, let sequence):
                snapshots[device, default: []].append(
                    Snapshot(
                        name: document.name, sequence: sequence, byteCount: document.byteCount,
                        modified: document.modified))
            case .intent(let device, _): intents.append((document.name, device, document))
            case .dismissed(let device): dismissals[device] = document.modified
            case .clock, nil: continue
            }
        }
        for device in snapshots.keys { snapshots[device]?.sort { $0.sequence < $1.sequence } }
    }
}
