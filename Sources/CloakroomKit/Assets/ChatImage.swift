public import Foundation

/// An image of a chat: it is never renewed, so it expires 30 days after it was uploaded, or after the `retention` of its
/// ``AssetUploader``.
///
/// There is no way from here to a ``RenewableAsset``: its address is text for a message, and no `URL`.
///
/// ```swift
/// let image = try await uploads.uploadChatImage(bytes)
/// RenewableAsset.groupImage(url: image.link, conversationID: id)  // does not compile
/// ```
public struct ChatImage: Sendable, Hashable {
    /// Where it can be read, to be sent in the message.
    public let link: String
    public let objectKey: String
    /// By the worker's clock, where its uploader knows that.
    public let uploadedAt: Date
    /// When S3 removes it, to a day or two.
    public let expiration: Date
    /// What releases it before that; `nil` where it was uploaded as all other images. Keep it on this device, beside the
    /// message: it lets this user's sign-in delete the image.
    public let releaseToken: String?

    /// For ``ImageReleaser/release(_:)``; `nil` where it cannot be released.
    public var release: ImageRelease? {
        releaseToken.map { ImageRelease(objectKey: objectKey, releaseToken: $0) }
    }

    /// Only an upload makes one.
    init(_ target: UploadTarget, uploadedAt: Date, retention: Duration) {
        link = target.assetURL.absoluteString
        objectKey = target.objectKey
        releaseToken = target.releaseToken
        self.uploadedAt = uploadedAt
        expiration = uploadedAt + TimeInterval(retention.components.seconds)
    }
}

extension ChatImage: CustomStringConvertible, CustomReflectable {
    public var description: String { "image \(objectKey) until \(expiration)" }
    public var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "expiration": expiration]) }
}
