// What the sources use of Apple's Photos, as its documentation declares it. Never run: for the type checker alone.
public import Foundation

public enum PHAccessLevel: Int, Sendable {
    case addOnly = 1
    case readWrite = 2
}

public enum PHAuthorizationStatus: Int, Sendable {
    case notDetermined, restricted, denied, authorized, limited
}

public enum PHObjectType: Int, Sendable {
    case asset = 1
    case assetCollection = 2
    case collectionList = 3
}

public enum PHAssetMediaType: Int, Sendable {
    case unknown, image, video, audio
}

public struct PHAssetMediaSubtype: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var photoScreenshot: PHAssetMediaSubtype { never() }
}

public enum PHAssetResourceType: Int, Sendable {
    case photo = 1
    case video = 2
    case audio = 3
    case alternatePhoto = 4
    case fullSizePhoto = 5
    case fullSizeVideo = 6
    case adjustmentData = 7
    case adjustmentBasePhoto = 8
    case pairedVideo = 9
    case fullSizePairedVideo = 10
    case adjustmentBasePairedVideo = 11
    case adjustmentBaseVideo = 12
}

public struct PHPhotosError: Swift.Error, Sendable {
    public enum Code: Int, Sendable {
        case persistentChangeTokenExpired = 3105
        case persistentChangeDetailsUnavailable = 3210
    }
    public var code: Code { never() }
}

public class PHPersistentChangeToken: NSObject, NSSecureCoding, @unchecked Sendable {
    public static var supportsSecureCoding: Bool { never() }
    public func encode(with coder: NSCoder) { never() }
    public required init?(coder: NSCoder) { never() }
}

public class PHPersistentObjectChangeDetails: NSObject {
    public var insertedLocalIdentifiers: Set<String> { never() }
    public var updatedLocalIdentifiers: Set<String> { never() }
    public var deletedLocalIdentifiers: Set<String> { never() }
}

public class PHPersistentChange: NSObject {
    public func changeDetails(for objectType: PHObjectType) throws -> PHPersistentObjectChangeDetails { never() }
}

public class PHPersistentChangeFetchResult: NSObject, Sequence {
    public func makeIterator() -> AnyIterator<PHPersistentChange> { never() }
}

public class PHPhotoLibrary: NSObject, @unchecked Sendable {
    public class func shared() -> PHPhotoLibrary { never() }
    public class func requestAuthorization(for accessLevel: PHAccessLevel) async -> PHAuthorizationStatus { never() }
    public class func authorizationStatus(for accessLevel: PHAccessLevel) -> PHAuthorizationStatus { never() }
    public var unavailabilityReason: (any Swift.Error)? { never() }
    public var currentChangeToken: PHPersistentChangeToken { never() }
    public func fetchPersistentChanges(since token: PHPersistentChangeToken) throws -> PHPersistentChangeFetchResult {
        never()
    }
}

public class PHFetchOptions: NSObject {
    public var includeHiddenAssets: Bool = false
    public var includeAllBurstAssets: Bool = false
}

public class PHFetchResult<ObjectType: AnyObject>: NSObject, @unchecked Sendable {
    public var count: Int { never() }
    public var firstObject: ObjectType? { never() }
    public func object(at index: Int) -> ObjectType { never() }
}

public class PHAsset: NSObject, @unchecked Sendable {
    public var localIdentifier: String { never() }
    public var mediaType: PHAssetMediaType { never() }
    public var mediaSubtypes: PHAssetMediaSubtype { never() }
    public var modificationDate: Date? { never() }
    public var isHidden: Bool { never() }
    public var burstIdentifier: String? { never() }
    public var representsBurst: Bool { never() }
    public class func fetchAssets(with options: PHFetchOptions?) -> PHFetchResult<PHAsset> { never() }
    public class func fetchAssets(
        withLocalIdentifiers identifiers: [String], options: PHFetchOptions?
    ) -> PHFetchResult<PHAsset> { never() }
}

public class PHAssetResource: NSObject, @unchecked Sendable {
    public var type: PHAssetResourceType { never() }
    public var originalFilename: String { never() }
    public class func assetResources(for asset: PHAsset) -> [PHAssetResource] { never() }
}

public typealias PHAssetResourceProgressHandler = (Double) -> Void

public class PHAssetResourceRequestOptions: NSObject {
    public var isNetworkAccessAllowed: Bool = false
    public var progressHandler: PHAssetResourceProgressHandler?
}

public typealias PHAssetResourceDataRequestID = Int32

public class PHAssetResourceManager: NSObject, @unchecked Sendable {
    public class func `default`() -> PHAssetResourceManager { never() }
    public func requestData(
        for resource: PHAssetResource, options: PHAssetResourceRequestOptions?,
        dataReceivedHandler handler: @escaping @Sendable (Data) -> Void,
        completionHandler: @escaping @Sendable ((any Swift.Error)?) -> Void
    ) -> PHAssetResourceDataRequestID { never() }
    public func cancelDataRequest(_ requestID: PHAssetResourceDataRequestID) { never() }
}

private func never() -> Never { preconditionFailure("a stub") }
