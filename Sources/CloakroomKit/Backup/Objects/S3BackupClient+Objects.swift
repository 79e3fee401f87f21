package import CloakroomAWS
import Foundation

extension S3BackupClient {
    /// The metadata of an object.
    ///
    /// - Returns: `nil` only when S3 itself says `NoSuchKey`.
    public func head(_ key: String) async throws -> ObjectInfo? {
        guard let stored = try await stored(key) else { return nil }
        // `nil` would say that there is none.
        guard let info = ObjectInfo(stored, key: key) else { throw Self.unknownSize(key) }
        return info
    }

    /// All that S3 says of an object, by one HEAD where there is one.
    ///
    /// - Returns: `nil` only when S3 itself says `NoSuchKey`.
    package func stored(_ key: String) async throws -> StoredObject? {
        try await performing("looking at", key) { target in
            if let stored = try await target.s3.head(target.object, deadline: operationDeadline) { return stored }
            // HEAD has no body: 404 may also mean the bucket, or come from a proxy.
            guard try await target.s3.exists(target.object, deadline: operationDeadline) else { return nil }
            throw CloakroomError(.unavailable, "looking at \(key): HEAD and GET disagree")
        }
    }

    static func unknownSize(_ key: String) -> CloakroomError {
        CloakroomError(.invalidResponse, "\(key): S3 does not say how long it is", status: 200)
    }

    /// Whether there is such an object: yes or no only by S3's explicit response. Anything else is an error.
    public func exists(_ key: String) async throws -> Bool {
        try await performing("looking for", key) { try await $0.s3.exists($0.object, deadline: operationDeadline) }
    }

    /// Deletes an object, or on a versioned bucket hides it; that there is none is no error.
    public func delete(_ key: String) async throws {
        try await performing("deleting", key) { try await $0.s3.delete($0.object, deadline: operationDeadline) }
    }
}

extension ObjectInfo {
    /// - Returns: `nil` when S3 does not say how long it is.
    init?(_ stored: StoredObject, key: String, byteCount: Int64? = nil) {
        guard let count = byteCount ?? stored.byteCount.map({ Int64($0) }), count >= 0 else { return nil }
        var metadata: [String: String] = [:]
        for field in stored.fields {
            let name = field.name.lowercased()
            guard name.hasPrefix(ObjectFields.prefix) else { continue }
            metadata[String(name.dropFirst(ObjectFields.prefix.count))] = field.value
        }
        metadata[ObjectFields.partSize] = nil
        self.init(
            key: key, byteCount: count, entityTag: stored.entityTag, lastModified: stored.lastModified,
            contentType: stored.fields["content-type"], metadata: metadata, isArchived: stored.isArchived)
    }
}
