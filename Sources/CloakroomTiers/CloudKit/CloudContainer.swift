import Foundation

/// What the tier needs of a CloudKit container: its account, and the private database of that account.
///
/// It sends each request once and gives what CloudKit says; retries, limits and meanings are the caller's.
protocol CloudContainer: Sendable {
    /// Such as `iCloud.com.example.photos`.
    var identifier: String { get }

    func accountStatus() async throws(CloudFault) -> CloudAccountStatus
    /// Another one for another account.
    func userRecordName() async throws(CloudFault) -> String

    /// - Throws: ``CloudFault/zoneNotFound``, ``CloudFault/userDeletedZone``, ``CloudFault/encryptedDataReset``.
    func checkZone(_ zone: String) async throws(CloudFault)
    func saveZone(_ zone: String) async throws(CloudFault)
    func deleteZone(_ zone: String) async throws(CloudFault)

    /// Records without their assets, by name.
    func fetch(_ names: [String], in zone: String) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>]

    /// - Parameter file: gets the asset's bytes; replaced when it is there.
    /// - Returns: the record whose asset it is.
    func download(
        _ name: String, in zone: String, to file: URL, progress: @escaping @Sendable (Double) -> Void
    ) async throws(CloudFault) -> CloudRecord

    /// Saves records, each for itself.
    ///
    /// - Parameter progress: of the assets of all of them.
    /// - Returns: the records as the server has them now, by name.
    func save(
        _ records: [CloudRecord], in zone: String, policy: CloudSavePolicy,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>]

    /// Deletes records, each for itself.
    func delete(_ names: [String], in zone: String) async throws(CloudFault) -> [String: Result<Void, CloudFault>]

    /// A page of what changed: each record with its size and date alone.
    ///
    /// - Parameter token: where the page before ended; `nil` for all records.
    func changes(in zone: String, since token: Data?) async throws(CloudFault) -> CloudChanges
}

enum CloudAccountStatus: Sendable, Hashable {
    case available, noAccount, restricted, temporarilyUnavailable, couldNotDetermine
}

enum CloudSavePolicy: Sendable, Hashable {
    /// Only a record that is new, or whose change tag is that of the server.
    case ifUnchanged
    case replace
}

/// A record with the fields that the tier uses.
struct CloudRecord: Sendable, Equatable {
    /// The record's type in the schema of the container.
    enum Kind: String, Sendable {
        case photo = "CloakroomPhoto"
        case thumbnail = "CloakroomThumbnail"
        case document = "CloakroomDocument"
    }

    /// The names of the fields in the schema of the container.
    enum Field: String, Sendable, CaseIterable {
        case byteCount, sha256, format, bytes, asset
    }

    var kind: Kind
    /// 1 to 255 ASCII characters.
    var name: String
    var byteCount: Int64
    var sha256: Data?
    var format: String?
    /// Of a thumbnail: with all fields but the asset, a record has at most 1 MB.
    var bytes: Data?
    /// The file to upload.
    var asset: URL?
    /// `nil` before the record was saved.
    var changeTag: String?
    /// By the server's clock; `nil` before the record was saved.
    var modified: Date?

    /// An upper bound of what the record adds to a request, besides its asset.
    var requestBytes: Int { 1024 + (bytes?.count ?? 0) }
}

/// A page of the changes of a zone.
struct CloudChanges: Sendable {
    var changed: [String: Result<CloudRecord, CloudFault>]
    var deleted: [String]
    var token: Data
    var moreComing: Bool
}
