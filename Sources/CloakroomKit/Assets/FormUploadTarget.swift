public import Foundation

/// A form that uploads one object, as `multipart/form-data`: ``fields`` first, then the object as `file`.
///
/// The fields are a bearer secret: the description leaves them out.
public struct FormUploadTarget: Sendable, Equatable {
    public let objectKey: String
    /// Where the form goes, by POST.
    public let uploadURL: URL
    public let fields: [String: String]
    /// Where the object can be read.
    public let assetURL: URL
    /// S3 refuses more.
    public let maximumBytes: Int64
    /// When the form expires.
    public let expiration: Date
    /// What releases the object, for an image of a chat; a secret of the uploader's.
    public var releaseToken: String?
}

extension FormUploadTarget: CustomStringConvertible, CustomReflectable {
    public var description: String { "form for \(objectKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "assetURL": assetURL]) }
}
