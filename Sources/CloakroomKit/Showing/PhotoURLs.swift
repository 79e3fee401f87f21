/// Presigned URLs of a user's own photos and thumbnails.
///
/// ```swift
/// let urls = PhotoURLs(client: s3, layout: try PhotoLayout(userID: session.userID))
/// let thumbnail = try await urls.url(forThumbnail: md5, expiresIn: .seconds(300))
/// ```
public struct PhotoURLs: Sendable {
    private let client: S3BackupClient
    private let layout: PhotoLayout

    public init(client: S3BackupClient, layout: PhotoLayout) {
        self.client = client
        self.layout = layout
    }

    /// - Parameters:
    ///   - md5: of the photo's bytes, 32 hexadecimal digits in lower case.
    ///   - contentType: such as `image/heic`; `nil` for what was stored with the photo.
    /// - Throws: ``CloakroomError``, as ``S3BackupClient/presignedURL(for:expiresIn:responseContentType:)`` does.
    public func url(
        forPhoto md5: String, expiresIn lifetime: Duration = .seconds(900), contentType: String? = nil
    ) async throws -> PresignedURL {
        try await url(forKey: layout.photo(md5: md5), expiresIn: lifetime, contentType: contentType)
    }

    /// - Parameter md5: of the photo's bytes, not of the thumbnail's.
    public func url(
        forThumbnail md5: String, expiresIn lifetime: Duration = .seconds(900), contentType: String? = nil
    ) async throws -> PresignedURL {
        try await url(forKey: layout.thumbnail(md5: md5), expiresIn: lifetime, contentType: contentType)
    }

    /// - Parameter key: one of the user's layout; another one is ``CloakroomError/Code/invalidRequest``.
    public func url(
        forKey key: String, expiresIn lifetime: Duration = .seconds(900), contentType: String? = nil
    ) async throws -> PresignedURL {
        guard layout.contains(key) else {
            throw CloakroomError(.invalidRequest, "\(key) is not a key of user \(layout.userID)")
        }
        return try await client.presignedURL(for: key, expiresIn: lifetime, responseContentType: contentType)
    }
}

extension PhotoLayout {
    /// Whether a key is below one of the user's prefixes, byte for byte.
    func contains(_ key: String) -> Bool {
        key.utf8.elementsEqual(profile.utf8)
            || [photos, thumbnails, metadata, catalogs].contains { prefix in
                key.utf8.count > prefix.utf8.count && key.utf8.starts(with: prefix.utf8)
            }
    }
}
