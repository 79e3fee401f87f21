/// What a request asks for.
package enum S3Operation: String, Sendable, CaseIterable {
    case putObject = "PutObject"
    case getObject = "GetObject"
    case headObject = "HeadObject"
    case deleteObject = "DeleteObject"
    case copyObject = "CopyObject"
    case postObject = "PostObject"
    case getObjectTagging = "GetObjectTagging"
    case putObjectTagging = "PutObjectTagging"
    case createMultipartUpload = "CreateMultipartUpload"
    case uploadPart = "UploadPart"
    case uploadPartCopy = "UploadPartCopy"
    case completeMultipartUpload = "CompleteMultipartUpload"
    case abortMultipartUpload = "AbortMultipartUpload"
    case listParts = "ListParts"
    case listMultipartUploads = "ListMultipartUploads"
    case listObjects = "ListObjectsV2"
    case listObjectVersions = "ListObjectVersions"
    case createBucket = "CreateBucket"
    case deleteBucket = "DeleteBucket"
    case headBucket = "HeadBucket"
    case getBucketLocation = "GetBucketLocation"
    case getBucketLifecycle = "GetBucketLifecycleConfiguration"
    case putBucketLifecycle = "PutBucketLifecycleConfiguration"
    case deleteBucketLifecycle = "DeleteBucketLifecycle"
    case getBucketVersioning = "GetBucketVersioning"
    case putBucketVersioning = "PutBucketVersioning"
    case getBucketEncryption = "GetBucketEncryption"
    case putBucketEncryption = "PutBucketEncryption"
    case getObjectLock = "GetObjectLockConfiguration"

    /// - Returns: `nil` for what this server does not know.
    init?(_ request: S3Request) {
        guard !request.bucket.isEmpty else { return nil }
        guard let operation = request.key == nil ? Self.onBucket(request) : Self.onObject(request) else { return nil }
        self = operation
    }

    private static func onObject(_ request: S3Request) -> Self? {
        let isCopy = request.field("x-amz-copy-source") != nil
        let isPart = request.has("uploadId")
        return switch request.method {
        case "PUT" where isPart: isCopy ? .uploadPartCopy : .uploadPart
        case "PUT" where request.has("tagging"): .putObjectTagging
        case "PUT" where request.has("acl") || request.has("retention") || request.has("legal-hold"): nil
        case "PUT": isCopy ? .copyObject : .putObject
        case "GET" where isPart: .listParts
        case "GET" where request.has("tagging"): .getObjectTagging
        case "GET" where request.has("acl") || request.has("attributes"): nil
        case "GET": .getObject
        case "HEAD": .headObject
        case "DELETE" where isPart: .abortMultipartUpload
        case "DELETE" where request.has("tagging"): nil
        case "DELETE": .deleteObject
        case "POST" where request.has("uploads"): .createMultipartUpload
        case "POST" where isPart: .completeMultipartUpload
        default: nil
        }
    }

    /// Subresources of a bucket, by method.
    private static let subresources: [String: [(name: String, operation: Self)]] = [
        "GET": [
            ("location", .getBucketLocation), ("lifecycle", .getBucketLifecycle), ("versioning", .getBucketVersioning),
            ("encryption", .getBucketEncryption), ("object-lock", .getObjectLock), ("uploads", .listMultipartUploads),
            ("list-type", .listObjects), ("versions", .listObjectVersions),
        ],
        "PUT": [
            ("lifecycle", .putBucketLifecycle), ("versioning", .putBucketVersioning),
            ("encryption", .putBucketEncryption),
        ],
        "DELETE": [("lifecycle", .deleteBucketLifecycle)],
    ]

    private static func onBucket(_ request: S3Request) -> Self? {
        if let found = subresources[request.method]?.first(where: { request.has($0.name) }) { return found.operation }
        let plain = request.query.allSatisfy { $0.name.lowercased().hasPrefix("x-amz-") || $0.name == "x-id" }
        return switch request.method {
        case "PUT" where plain: .createBucket
        case "DELETE" where plain: .deleteBucket
        case "HEAD": .headBucket
        case "POST" where request.field("content-type")?.hasPrefix("multipart/form-data") == true: .postObject
        default: nil
        }
    }
}
