public import Foundation

/// An upload in parts that has begun; the parts go to URLs of their own.
public struct MultipartAssetUpload: Sendable, Equatable {
    /// Names it to the worker, for whoever began it and nobody else.
    public let id: String
    public let objectKey: String
    /// Where the object can be read once it is complete.
    public let assetURL: URL
    /// Every part but the last has so many bytes.
    public let partByteCount: Int64
    /// Parts are numbered from 1 to this.
    public let partCount: Int
    /// Until when ``id`` is good.
    public let expiration: Date
}

/// Where to PUT one part. Whoever has the URL may upload; printed, it is left out.
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
