/// What a request wants.
public enum TestOperation: String, Sendable, Hashable, CaseIterable {
    // Of the worker.
    case vendCredentials
    case signIn
    case continueSession
    case requestUpload
    case beginAssetUpload
    case requestAssetParts
    case completeAssetUpload
    case abortAssetUpload
    case renewAssets
    case releaseImages
    // Of S3.
    case putObject
    case getObject
    case headObject
    case deleteObject
    case listObjects
    case createMultipartUpload
    case uploadPart
    case listParts
    case completeMultipartUpload
    case abortMultipartUpload
    /// Without credentials, at ``TestServer/assetBaseURL``.
    case readAsset
    /// What the server does not know; the worker's response is 404, that of S3 501.
    case unknown

    /// Whether the worker responds to it.
    var isOfWorker: Bool {
        switch self {
        case .vendCredentials, .signIn, .continueSession, .requestUpload, .beginAssetUpload, .requestAssetParts,
            .completeAssetUpload, .abortAssetUpload, .renewAssets, .releaseImages:
            true
        case .putObject, .getObject, .headObject, .deleteObject, .listObjects, .createMultipartUpload, .uploadPart,
            .listParts, .completeMultipartUpload, .abortMultipartUpload, .readAsset, .unknown:
            false
        }
    }

    var isRead: Bool {
        switch self {
        case .getObject, .headObject, .listObjects, .readAsset, .listParts: true
        default: false
        }
    }
}
