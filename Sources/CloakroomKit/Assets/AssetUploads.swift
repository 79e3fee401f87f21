package import AWS

/// Uploads images, and says by the type of each how long it lives.
///
/// ```swift
/// let uploads = AssetUploads(uploader: client)
/// let picture = try await uploads.uploadChatImage(AssetBytes(data, contentType: "application/octet-stream"))
/// let avatar = try await uploads.uploadProfileAvatar(bytes, conversationID: conversation, inboxID: inbox)
/// ```
public struct AssetUploads: Sendable {
    private let uploader: any AssetUploader
    private let retention: Duration
    private let surroundings: Surroundings

    /// - Parameters:
    ///   - uploader: such as a ``CloakroomClient``.
    ///   - retention: how long the bucket keeps what nobody renews; 30 days, unless its lifecycle rule was changed.
    public init(uploader: any AssetUploader, retention: Duration = .seconds(30 * 86_400)) {
        self.init(uploader: uploader, retention: retention, surroundings: Surroundings())
    }

    package init(
        uploader: any AssetUploader, retention: Duration = .seconds(30 * 86_400), surroundings: Surroundings
    ) {
        self.uploader = uploader
        self.retention = retention
        self.surroundings = surroundings
    }

    /// Uploads an image of a message. It expires by itself.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadChatImage(_ bytes: AssetBytes) async throws -> ChatImage {
        let date = surroundings.wallClock()
        return ChatImage(try await upload(bytes), uploadedAt: date, retention: retention)
    }

    /// Uploads the user's own picture for one conversation. The app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadProfileAvatar(
        _ bytes: AssetBytes, conversationID: String, inboxID: String
    ) async throws -> RenewableAsset {
        let target = try await upload(bytes)
        return .profileAvatar(url: target.assetURL, conversationID: conversationID, inboxID: inboxID)
    }

    /// Uploads the picture of a group. Each member's app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadGroupImage(_ bytes: AssetBytes, conversationID: String) async throws -> RenewableAsset {
        .groupImage(url: try await upload(bytes).assetURL, conversationID: conversationID)
    }

    private func upload(_ bytes: AssetBytes) async throws -> UploadTarget {
        let target = try await uploader.requestUpload(bytes)
        do {
            try await uploader.upload(bytes.body, to: target)
            return target
        } catch let error as CloakroomError where error.code == .uploadURLExpired {
            // The device slept between the two.
            let another = try await uploader.requestUpload(bytes)
            try await uploader.upload(bytes.body, to: another)
            return another
        }
    }
}

extension AssetUploader {
    func requestUpload(_ bytes: AssetBytes) async throws -> UploadTarget {
        try await requestUpload(contentType: bytes.contentType, byteCount: bytes.body.byteCount)
    }
}
