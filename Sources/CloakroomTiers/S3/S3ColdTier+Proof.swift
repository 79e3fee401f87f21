import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
public import Foundation

extension S3ColdTier {
    /// One HEAD proves a photo that ``put(_:_:progress:)`` stored with one PUT.
    ///
    /// Any other object of its size is read back and hashed: one without our SHA-256, one whose entity tag is no MD5
    /// (KMS, SSE-C), and a multipart upload, unless `file` shows that these are its parts.
    public func verify(_ photo: PhotoDescriptor, file: URL?) async throws -> ColdProof? {
        let identity = try await identity
        let key = try key(of: photo)
        guard let stored = try await client.stored(key) else { return nil }
        try Self.checkMayBe(photo, stored, key: key)
        try Self.checkStays(stored, key: key)
        if try await !Self.isProven(photo, stored, file: file) {
            guard let digests = try await digests(of: stored, at: key) else { return nil }
            guard photo.sha256.map({ $0 == digests.sha256 }) ?? (digests.md5 == photo.md5) else {
                throw Self.collision(key, "S3 has other bytes")
            }
        }
        guard try await self.identity == identity else {
            throw CloakroomError(.accountChanged, "the credentials are for another bucket than before")
        }
        return ColdProof(identity: identity, key: key, tag: stored.proofTag, date: stored.date)
    }

    public func checkStays(thumbnailOf photo: PhotoDescriptor?, document name: String?) async throws {
        var keys: [String] = []
        if let photo { keys.append(try layout.thumbnail(md5: photo.md5.hexadecimal)) }
        if let name { keys.append(try layout.catalog(named: name)) }
        for key in keys {
            if let stored = try await client.stored(key) { try Self.checkStays(stored, key: key) }
        }
    }

    /// - Returns: `nil` when it was deleted since.
    private func digests(of stored: StoredObject, at key: String) async throws -> ObjectDigests? {
        do { return try await client.digests(of: stored, at: key) } catch let error as CloakroomError
            where error.code == .noSuchObject
        {
            return nil
        }
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/photoCollision`` for an object that is surely not the photo.
    static func checkMayBe(_ photo: PhotoDescriptor, _ stored: StoredObject, key: String) throws(CloakroomError) {
        guard let byteCount = stored.byteCount else {
            throw CloakroomError(.invalidResponse, "\(key): S3 does not say how long it is", status: 200)
        }
        guard Int64(byteCount) == photo.byteCount else {
            throw collision(key, "\(byteCount) bytes, not \(photo.byteCount)")
        }
        if let claimed = stored.photoSHA256, let sha256 = photo.sha256, claimed != sha256 {
            throw collision(key, "a photo of SHA-256 \(claimed.hexadecimal)")
        }
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/photoExpiring``, ``CloakroomError/Code/archived``.
    static func checkStays(_ stored: StoredObject, key: String) throws(CloakroomError) {
        // Whatever it says: a rule is for the object.
        if let rule = stored.fields["x-amz-expiration"] {
            throw CloakroomError(.photoExpiring, "\(key) is going to be deleted: \(rule.prefix(300))")
        }
        // Also where a restored copy is there: that goes again.
        let archives = ["GLACIER", "DEEP_ARCHIVE"]
        if archives.contains(stored.storageClass) || stored.fields["x-amz-archive-status"] != nil {
            throw CloakroomError(.archived, "\(key) is in an archive tier (\(stored.storageClass))")
        }
    }

    /// Whether HEAD's response, and the file, show that S3 has the photo's bytes.
    private static func isProven(
        _ photo: PhotoDescriptor, _ stored: StoredObject, file: URL?
    ) async throws -> Bool {
        if photo.provenTag == stored.proofTag, stored.isTagOfOneObject { return true }
        guard let sha256 = photo.sha256 else { return stored.md5 == photo.md5.hexadecimal }
        guard stored.photoSHA256 == sha256 else { return false }
        if let md5 = stored.md5 { return md5 == photo.md5.hexadecimal }
        guard let file, stored.partsMD5 != nil else { return false }
        // A file that cannot be read shows nothing.
        return (try? await S3BackupClient.sha256(of: file, ifPartsOf: stored)) == sha256
    }

    private static func collision(_ key: String, _ found: String) -> CloakroomError {
        CloakroomError(.photoCollision, "\(key) is another object: \(found)")
    }
}

extension StoredObject {
    /// Another one for other bytes, as far as the store shows it.
    ///
    /// An entity tag that is an MD5, or made of MD5s, is that of any bytes with this MD5. Beside it stand the version or,
    /// where there is none and no SHA-256 of ours, the date of the object.
    fileprivate var proofTag: String {
        if let version { return "\(entityTag);\(version)" }
        guard hasMD5, photoSHA256 == nil, let lastModified else { return entityTag }
        return "\(entityTag);\(Int64(lastModified.timeIntervalSince1970))"
    }

    /// Whether no other object can have its ``proofTag``.
    fileprivate var isTagOfOneObject: Bool {
        version != nil || !hasMD5 || photoSHA256 != nil || lastModified != nil
    }

    /// `nil` also for `null`, which objects have that replace each other.
    private var version: String? { versionID.flatMap { $0 == "null" ? nil : $0 } }

    private var hasMD5: Bool { md5 != nil || partsMD5 != nil }

    /// As it was uploaded with the photo; `nil` also for what is none.
    fileprivate var photoSHA256: [UInt8]? {
        fields["x-amz-meta-" + PhotoMetadata.sha256].flatMap { [UInt8](hexadecimal: $0.utf8) }
            .flatMap { $0.count == SHA256.byteCount ? $0 : nil }
    }
}
