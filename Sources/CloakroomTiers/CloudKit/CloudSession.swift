import CloakroomKit
import Foundation

/// What a tier has learned since it was made.
actor CloudSession {
    /// The account that it works for: the first it saw.
    private(set) var user: String?
    private var zones: Set<String> = []
    private var serverTime: (date: Date, at: ContinuousClock.Instant)?
    /// The documents by name, as of a change token.
    private(set) var documents = CloudDocuments()
    private let instant: @Sendable () -> ContinuousClock.Instant

    init(instant: @escaping @Sendable () -> ContinuousClock.Instant) { self.instant = instant }

    /// - Throws: ``CloudFault/accountChanged`` for any account but the first.
    func use(_ name: String) throws(CloudFault) {
        guard user == nil || user == name else { throw .accountChanged }
        user = name
    }

    func hasSeen(_ zone: String) -> Bool { zones.contains(zone) }
    func didSee(_ zone: String) { zones.insert(zone) }

    /// The server's time now, from the date of what was saved last and the monotonic clock; `nil` when nothing was
    /// saved. Late by as long as a response takes, never early.
    var serverNow: Date? {
        serverTime.map { $0.date.addingTimeInterval($0.at.duration(to: instant()) / .seconds(1)) }
    }

    func didSave(_ record: CloudRecord) {
        guard let date = record.modified, serverNow.map({ date > $0 }) ?? true else { return }
        serverTime = (date, instant())
    }

    func keep(_ documents: CloudDocuments) { self.documents = documents }
}

struct CloudDocuments: Sendable {
    var token: Data?
    var byName: [String: DocumentListing.Document] = [:]
}
