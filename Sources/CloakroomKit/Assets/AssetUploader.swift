package import CloakroomAWS

/// Uploads images; the type of the result says how long each is kept.
///
/// ```swift
/// let uploads = AssetUploader(uploader: client)
/// let picture = try await uploads.uploadChatImage(UploadContent(data, contentType: "application/octet-stream"))
/// let avatar = try await uploads.uploadProfileAvatar(bytes, conversationID: conversation, inboxID: inbox)
/// ```
public struct AssetUploader: Sendable {
    private let uploader: any PresignedUploader
    private let retention: Duration
    private let releasesChatImages: Bool
    private let runtime: RuntimeDependencies

    /// - Parameters:
    ///   - uploader: such as a ``CloakroomClient``.
    ///   - retention: how long the bucket keeps assets without a renewal; 30 days, unless its lifecycle rule was changed.
    ///   - releasesChatImages: whether images of chats get a release token, where the operator has set that up.
    public init(
        uploader: any PresignedUploader, retention: Duration = .seconds(30 * 86_400), releasesChatImages: Bool = false
    ) {
        self.init(
            uploader: uploader, retention: retention, releasesChatImages: releasesChatImages,
            runtime: RuntimeDependencies())
    }

    package init(
        uploader: any PresignedUploader, retention: Duration = .seconds(30 * 86_400), releasesChatImages: Bool = false,
        runtime: RuntimeDependencies
    ) {
        self.releasesChatImages = releasesChatImages
        self.uploader = uploader
        self.retention = retention
        self.runtime = runtime
    }

    /// Uploads an image of a message. It expires by itself.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadChatImage(_ bytes: UploadContent) async throws -> ChatImage {
        let date = runtime.wallClock()
        return ChatImage(try await upload(bytes, isOfChat: true), uploadedAt: date, retention: retention)
    }

    /// Uploads the user's own picture for one conversation. The app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadProfileAvatar(
        _ bytes: UploadContent, conversationID: String, inboxID: String
    ) async throws -> RenewableAsset {
        let target = try await upload(bytes)
        return .profileAvatar(url: target.assetURL, conversationID: conversationID, inboxID: inboxID)
    }

    /// Uploads the picture of a group. Each member's app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadGroupImage(_ bytes: UploadContent, conversationID: String) async throws -> RenewableAsset {
        .groupImage(url: try await upload(bytes).assetURL, conversationID: conversationID)
    }

    private func upload(_ bytes: UploadContent, isOfChat: Bool = false) async throws -> UploadTarget {
        let isReleasable = isOfChat && releasesChatImages
        let target = try await uploader.requestUpload(bytes, isReleasable: isReleasable)
        do {
            try await uploader.upload(bytes.body, to: target)
            return target
        } catch let error as CloakroomError where error.code == .uploadURLExpired {
            // The device slept between the two.
            let another = try await uploader.requestUpload(bytes, isReleasable: isReleasable)
            try await uploader.upload(bytes.body, to: another)
            return another
        }
    }
}

extension PresignedUploader {
    func requestUpload(_ bytes: UploadContent, isReleasable: Bool = false) async throws -> UploadTarget {
        guard isReleasable else {
            return try await requestUpload(contentType: bytes.contentType, byteCount: bytes.body.byteCount)
        }
        return try await requestChatUpload(contentType: bytes.contentType, byteCount: bytes.body.byteCount)
    }
}
