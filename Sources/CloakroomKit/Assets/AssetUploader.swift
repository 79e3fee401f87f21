package import CloakroomAWS
import Foundation

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
    ///   - retention: how long the bucket keeps images of chats: 30 days, unless its lifecycle rule was changed. With
    ///     `releasesChatImages` it is the worker's `uploads.chatRetentionDays`.
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

    /// Uploads an image of a message. It expires by itself: ``ChatImage/expiration`` says when, by the worker's clock with a
    /// ``CloakroomClient``, by the device's with another uploader.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadChatImage(_ bytes: UploadContent) async throws -> ChatImage {
        let (target, date) = try await upload(bytes, isOfChat: true)
        return ChatImage(target, uploadedAt: date, retention: retention)
    }

    /// Uploads the user's own picture for one conversation. The app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadProfileAvatar(
        _ bytes: UploadContent, conversationID: String, inboxID: String
    ) async throws -> RenewableAsset {
        let target = try await upload(bytes).target
        return .profileAvatar(url: target.assetURL, conversationID: conversationID, inboxID: inboxID)
    }

    /// Uploads the picture of a group. Each member's app keeps its URL and has it renewed.
    ///
    /// - Throws: ``CloakroomError``.
    public func uploadGroupImage(_ bytes: UploadContent, conversationID: String) async throws -> RenewableAsset {
        .groupImage(url: try await upload(bytes).target.assetURL, conversationID: conversationID)
    }

    /// - Returns: where the bytes are, and when their upload began.
    private func upload(
        _ bytes: UploadContent, isOfChat: Bool = false
    ) async throws -> (target: UploadTarget, date: Date) {
        let isReleasable = isOfChat && releasesChatImages
        do {
            return try await uploadOnce(bytes, isReleasable: isReleasable)
        } catch let error as CloakroomError where error.code == .uploadURLExpired {
            // The device slept between the two.
            return try await uploadOnce(bytes, isReleasable: isReleasable)
        }
    }

    private func uploadOnce(
        _ bytes: UploadContent, isReleasable: Bool
    ) async throws -> (target: UploadTarget, date: Date) {
        let target = try await uploader.requestUpload(bytes, isReleasable: isReleasable)
        let date = await uploader.serverTime(runtime)
        try await uploader.upload(bytes.body, to: target)
        return (target, date)
    }
}

extension PresignedUploader {
    /// The worker's time, known since its response; the device's for an uploader that does not keep time.
    func serverTime(_ runtime: RuntimeDependencies) async -> Date {
        let clock = (self as? any TimekeepingVendor)?.serverClock
        return await clock?.current ?? runtime.wallClock()
    }

    func requestUpload(_ bytes: UploadContent, isReleasable: Bool = false) async throws -> UploadTarget {
        guard isReleasable else {
            return try await requestUpload(contentType: bytes.contentType, byteCount: bytes.body.byteCount)
        }
        return try await requestChatUpload(contentType: bytes.contentType, byteCount: bytes.body.byteCount)
    }
}
