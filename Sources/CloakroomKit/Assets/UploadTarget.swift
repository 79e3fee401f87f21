public import Foundation

/// Where one object may be uploaded, once, and where it can be read afterwards.
///
/// ``uploadURL`` is a bearer secret: the description leaves it out.
public struct UploadTarget: Sendable, Equatable {
    public let objectKey: String
    public let uploadURL: URL
    /// Where the object can be read.
    public let assetURL: URL
    /// When ``uploadURL`` ends; `nil` where the server does not say.
    public let expiration: Date?
    /// To be sent with the PUT, exactly.
    public let fields: [String: String]
    /// What releases the object, for an image of a chat; a secret of the uploader's.
    public let releaseToken: String?

    public init(
        objectKey: String, uploadURL: URL, assetURL: URL, expiration: Date?, fields: [String: String],
        releaseToken: String? = nil
    ) {
        self.objectKey = objectKey
        self.uploadURL = uploadURL
        self.assetURL = assetURL
        self.expiration = expiration
        self.fields = fields
        self.releaseToken = releaseToken
    }
}

extension UploadTarget: CustomStringConvertible, CustomReflectable {
    public var description: String { "upload of \(objectKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "assetURL": assetURL]) }
}

/// Issues upload destinations and sends bytes to them: ``CloakroomClient``, or a test double.
public protocol PresignedUploader: Sendable {
    /// - Parameter byteCount: of the object, exactly.
    func requestUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget

    /// The same for an image of a chat, with a ``UploadTarget/releaseToken``.
    ///
    /// - Throws: ``CloakroomError``: `chatNotEnabled` where the operator has set up none.
    func requestChatUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget

    /// Uploads to a destination issued before.
    ///
    /// - Returns: when S3 has it; also when an earlier attempt stored it, since each destination has one user.
    /// - Throws: ``CloakroomError``: code ``CloakroomError/Code/uploadURLExpired`` when another destination is needed: then
    ///   S3 has nothing at this one.
    func upload(_ body: HTTPBody, to target: UploadTarget) async throws
}

extension PresignedUploader {
    /// For uploaders that know no images of chats.
    public func requestChatUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
        throw CloakroomError(.chatNotEnabled, "This uploader knows no images of chats")
    }
}
