public import Foundation

/// A multipart upload that has begun; each part has a URL of its own.
public struct MultipartAssetUpload: Sendable, Equatable {
    /// Identifies the upload to the worker; valid only for the user who began it.
    public let id: String
    public let objectKey: String
    /// Where the object can be read once it is complete.
    public let assetURL: URL
    /// Every part but the last has so many bytes.
    public let partByteCount: Int64
    /// Parts are numbered from 1 to this.
    public let partCount: Int
    /// Until when ``id`` is valid.
    public let expiration: Date
    /// What releases the object, for an image of a chat; a secret of the uploader's.
    public var releaseToken: String?
}

/// Where to PUT one part. The URL is a bearer secret: the description leaves it out.
public struct AssetPart: Sendable, Equatable {
    /// From 1.
    public let number: Int
    public let uploadURL: URL
    /// Exactly so many bytes.
    public let byteCount: Int64
    public let expiration: Date
}

/// An object that is there.
public struct UploadedAsset: Sendable, Equatable {
    public let objectKey: String
    /// Where it can be read.
    public let assetURL: URL
}

extension AssetPart: CustomStringConvertible, CustomReflectable {
    public var description: String { "part \(number), \(byteCount) bytes" }
    public var customMirror: Mirror { Mirror(self, children: ["number": number, "byteCount": byteCount]) }
}

extension MultipartAssetUpload: CustomStringConvertible, CustomReflectable {
    public var description: String { "multipart upload of \(objectKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey, "assetURL": assetURL]) }
}
