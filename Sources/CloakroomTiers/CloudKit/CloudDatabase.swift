import Foundation

/// The records of one account: each request is sent for that account alone, within the limits, and again when CloudKit
/// is busy.
struct CloudDatabase: Sendable {
    let container: any CloudContainer
    let session: CloudSession
    let requests: CloudRequests
    /// Of photos and thumbnails.
    let photoZone: String
    /// Of documents alone, so that listing them lists no photos.
    var documentZone: String { "\(photoZone)-documents" }

    private let fetches: CloudBatch<String, CloudRecord>
    private let saves: CloudBatch<CloudRecord, CloudRecord>
    private let deletions: CloudBatch<String, Void>

    init(_ container: any CloudContainer, session: CloudSession, requests: CloudRequests, zone: String) {
        self.container = container
        self.session = session
        self.requests = requests
        photoZone = zone
        let sender = CloudSender(container: container, session: session, requests: requests)
        fetches = CloudBatch(name: { $0 }, request: { await sender.fetch($0, in: zone) })
        saves = CloudBatch(name: { $0.name }, request: { await sender.save($0, in: zone, policy: .replace) })
        deletions = CloudBatch(name: { $0 }, request: { await sender.delete($0, in: zone) })
    }

    private var sender: CloudSender { CloudSender(container: container, session: session, requests: requests) }

    /// - Throws: ``CloudFault/accountChanged``, ``CloudFault/notAuthenticated``, ``CloudFault/accountUnavailable``.
    func user() async throws(CloudFault) -> String { try await sender.checkedUser() }

    /// A record of the photos' zone without its asset, together with what else is fetched now.
    func fetch(_ name: String) async throws(CloudFault) -> CloudRecord { try await fetches.send(name) }

    /// Saves a record of the photos' zone that has no asset, whatever is there, together with what else is saved now.
    func replace(_ record: CloudRecord) async throws(CloudFault) { _ = try await saves.send(record) }

    /// Deletes a record of the photos' zone, together with what else is deleted now.
    func delete(_ name: String) async throws(CloudFault) { try await deletions.send(name) }

    func save(
        _ record: CloudRecord, in zone: String, policy: CloudSavePolicy,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws(CloudFault) {
        let results = await sender.save([record], in: zone, policy: policy, progress: progress)
        guard let result = results[record.name] else { throw .busy(retryAfter: nil) }
        _ = try result.get()
    }

    func delete(_ name: String, in zone: String) async throws(CloudFault) {
        guard let result = await sender.delete([name], in: zone)[name] else { throw .busy(retryAfter: nil) }
        try result.get()
    }

    func download(
        _ name: String, in zone: String, to file: URL, progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) async throws(CloudFault) -> CloudRecord {
        try await sender.send(in: zone) { () async throws(CloudFault) in
            try await container.download(name, in: zone, to: file, progress: progress)
        }
    }

    /// - Returns: `nil` when the token has expired: list anew, without one.
    func changes(in zone: String, since token: Data?) async throws(CloudFault) -> CloudChanges? {
        do throws(CloudFault) {
            return try await sender.send(in: zone) { () async throws(CloudFault) in
                try await container.changes(in: zone, since: token)
            }
        } catch {
            guard error == .changeTokenExpired, token != nil else { throw error }
            return nil
        }
    }

    /// - Throws: ``CloudFault/zoneNotFound``, ``CloudFault/userDeletedZone``, ``CloudFault/encryptedDataReset``.
    func checkZone(_ zone: String) async throws(CloudFault) {
        try await sender.send(in: zone) { () async throws(CloudFault) in try await container.checkZone(zone) }
    }

    func saveZone(_ zone: String) async throws(CloudFault) {
        try await sender.send(in: zone) { () async throws(CloudFault) in try await container.saveZone(zone) }
    }

    func deleteZone(_ zone: String) async throws(CloudFault) {
        try await requests.send { () async throws(CloudFault) in
            try await sender.inAccount { () async throws(CloudFault) in try await container.deleteZone(zone) }
        }
    }
}
