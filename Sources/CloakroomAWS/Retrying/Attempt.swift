/// One attempt at one call, for metrics and for adapting to the service.
package struct Attempt: Sendable, Equatable {
    package enum Service: String, Sendable {
        case sts
        case s3
        case iam
    }

    package enum Operation: String, Sendable {
        case assumeRole = "AssumeRole"
        case copyObject = "CopyObject"
        case headObject = "HeadObject"
        case getObject = "GetObject"
        case putObject = "PutObject"
        case deleteObject = "DeleteObject"
        case getObjectTagging = "GetObjectTagging"
        case putObjectTagging = "PutObjectTagging"
        case listObjects = "ListObjectsV2"
        case headBucket = "HeadBucket"
        case createBucket = "CreateBucket"
        case deleteBucket = "DeleteBucket"
        case getBucketLocation = "GetBucketLocation"
        case getBucketVersioning = "GetBucketVersioning"
        case getBucketLifecycle = "GetBucketLifecycleConfiguration"
        case putBucketLifecycle = "PutBucketLifecycleConfiguration"
        case createMultipartUpload = "CreateMultipartUpload"
        case listParts = "ListParts"
        case uploadPart = "UploadPart"
        case uploadPartCopy = "UploadPartCopy"
        case completeMultipartUpload = "CompleteMultipartUpload"
        case abortMultipartUpload = "AbortMultipartUpload"
        case probe = "Probe"
        case deleteBucketLifecycle = "DeleteBucketLifecycle"
        case getRolePolicy = "GetRolePolicy"
        case putRolePolicy = "PutRolePolicy"
    }

    package let service: Service
    package let operation: Operation
    /// From 0.
    package let number: Int
    /// `nil` for success, or a definite no such as "there is no such object".
    package let fault: AWSError?
    package let duration: Duration

    package init(service: Service, operation: Operation, number: Int, fault: AWSError?, duration: Duration) {
        self.service = service
        self.operation = operation
        self.number = number
        self.fault = fault
        self.duration = duration
    }
}

/// What a result took.
package struct AttemptCounts: Sendable, Equatable {
    package var attempts = 0
    package var throttles = 0

    package init(attempts: Int = 0, throttles: Int = 0) {
        self.attempts = attempts
        self.throttles = throttles
    }

    static func += (left: inout AttemptCounts, right: AttemptCounts) {
        left.attempts += right.attempts
        left.throttles += right.throttles
    }
}
