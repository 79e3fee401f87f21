import CloakroomCrypto
public import CloakroomKit
public import Foundation

/// A user's photos in S3, with the credentials that the worker vends.
///
/// Photos are `photos/{user}/tiers/{md5}.dat`, thumbnails `thumbnails/{user}/tiers/{md5}.jpg`, documents
/// `catalogs/{user}/{name}`; the worker's `vending.prefixes` must have all three.
///
/// These folders are the tier's own, because it deletes what the user removes: a photo that is backed up as well, by
/// ``PhotoBackup``, ``SourceBackup`` or ``Outbox``, is stored twice, and its backup stays.
///
/// Storing a photo is one request, verifying one more, opening one. A store may send no `x-amz-expiration` for an object
/// that a lifecycle rule will delete (SeaweedFS does not): there its operator promises that no rule is for these
/// prefixes.
public struct S3ColdTier: ColdTier {
    let client: S3BackupClient
    /// Of the tier's own folders.
    let layout: PhotoLayout
    private let reader: S3BackupClient?

    /// - Parameters:
    ///   - layout: of the user whose credentials the client has.
    ///   - reader: of the same user, with credentials that only read, such as ``Cloakroom/reader``: by it photos come
    ///     back to the device when the user's storage is used up, and the worker vends no credentials that write.
    public init(client: S3BackupClient, layout: PhotoLayout, reader: S3BackupClient? = nil) {
        self.client = client
        self.layout = layout.ofTiers
        self.reader = reader
    }

    /// Reads with the usual credentials, or where there are none for a user whose storage is used up, with those that
    /// only read.
    func reading<Value>(_ body: (S3BackupClient) async throws -> Value) async throws -> Value {
        do { return try await body(client) } catch let error as CloakroomError {
            guard error.code == .storageQuotaExceeded, let reader else { throw error }
            return try await body(reader)
        }
    }

    /// Of the bucket that the credentials name now; without a request while they are valid.
    public var identity: TierIdentity {
        get async throws {
            let (endpoint, bucket) = try await reading { try await $0.location() }
            return TierIdentity("s3:\(endpoint)/\(bucket)/\(layout.userID)")
        }
    }

    /// Whether there are credentials; S3 has no quota of a user.
    public func availability() async -> TierAvailability {
        do {
            _ = try await client.location()
            return TierAvailability()
        } catch {
            return TierAvailability(failure: CloakroomError(of: error))
        }
    }

    public func put(_ file: URL, _ photo: PhotoDescriptor, progress: TransferProgress.Observer?) async throws {
        let key = try key(of: photo)
        // S3 checks the MD5, but not of what is uploaded in parts.
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        if let byteCount = attributes?[.size] as? Int64, byteCount != photo.byteCount {
            throw CloakroomError(.photoDamaged, "\(file.lastPathComponent) has \(byteCount) bytes")
        }
        do {
            return try await send(file, photo, to: key, .isNew, progress)
        } catch let error as CloakroomError where error.code == .conditionFailed || Self.hasNoConditions(error) {
            if let stored = try await client.stored(key) {
                try Self.checkMayBe(photo, stored, key: key)
                progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
                return
            }
            // Deleted meanwhile, or a store where the last one wins.
            let condition = Self.hasNoConditions(error) ? ObjectCondition.none : .isNew
            do {
                try await send(file, photo, to: key, condition, progress)
            } catch let error as CloakroomError where error.code == .conditionFailed {
                throw CloakroomError(.unavailable, "\(key) is written by another client", status: error.status)
            }
        }
    }

    private func send(
        _ file: URL, _ photo: PhotoDescriptor, to key: String, _ condition: ObjectCondition,
        _ progress: TransferProgress.Observer?
    ) async throws {
        var metadata: [String: String] = [:]
        if let sha256 = photo.sha256 { metadata[PhotoMetadata.sha256] = sha256.hexadecimal }
        if OriginalFormat.isValid(photo.format) { metadata[OriginalFormat.field] = photo.format }
        try await client.put(
            file: file, to: key, contentType: PhotoMetadata.contentType(ofFormat: photo.format), metadata: metadata,
            condition: condition, md5: photo.md5, progress: progress)
    }

    private static func hasNoConditions(_ error: CloakroomError) -> Bool { error.serverCode == "NotImplemented" }

    public func fetch(_ photo: PhotoDescriptor, to file: URL, progress: TransferProgress.Observer?) async throws {
        let known = KnownBytes(md5: photo.md5, sha256: photo.sha256, byteCount: photo.byteCount)
        let key = try key(of: photo)
        // The store has the disk hold it, while the user looks at it.
        _ = try await reading {
            try await $0.download(key, to: file, known: known, isSynced: false, progress: progress)
        }
    }

    public func delete(_ photo: PhotoDescriptor) async throws { try await client.delete(try key(of: photo)) }

    public var hashesFetches: Bool { true }

    func key(of photo: PhotoDescriptor) throws -> String { try layout.photo(md5: photo.md5.hexadecimal) }
}
