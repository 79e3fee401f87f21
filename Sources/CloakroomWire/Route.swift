/// The routes of the worker; the raw value is the path as it is sent, before `?`, with `{id}` and `{number}` for what differs.
package enum Route: String, Sendable, CaseIterable {
    case stsToken = "/api/v1/auth/sts-token"
    case session = "/api/v1/auth/session"
    case sessionKeys = "/.well-known/jwks.json"
    case appleNotifications = "/api/v1/auth/apple/notifications"
    case containerCredentials = "/v1/credentials"
    /// STS' own wire, for AWS SDKs: AssumeRoleWithWebIdentity.
    case webIdentity = "/sts"
    case presignedUpload = "/v2/attachments/presigned"
    case presignedPost = "/v2/attachments/presigned-post"
    case multipartUploads = "/v2/uploads"
    case multipartUpload = "/v2/uploads/{id}"
    case multipartParts = "/v2/uploads/{id}/parts"
    case multipartCompletion = "/v2/uploads/{id}/complete"
    case renewBatch = "/v2/assets/renew-batch"
    case renewOne = "/v2/assets/renew"
    case releaseBatch = "/v2/assets/release-batch"
    case companionForm = "/companion/s3/params"
    case companionUploads = "/companion/s3/multipart"
    case companionUpload = "/companion/s3/multipart/{id}"
    case companionBatch = "/companion/s3/multipart/{id}/batch"
    case companionCompletion = "/companion/s3/multipart/{id}/complete"
    case companionPart = "/companion/s3/multipart/{id}/{number}"
    case companionCredentials = "/companion/s3/sts"
    case health = "/healthz"
    case readiness = "/readyz"
    case metrics = "/metrics"
    case status = "/status"

    package var method: String {
        switch self {
        case .stsToken, .webIdentity, .session, .appleNotifications, .presignedPost, .multipartUploads,
            .multipartCompletion,
            .renewBatch, .releaseBatch, .companionUploads, .companionCompletion:
            "POST"
        case .renewOne: "PUT"
        case .multipartUpload: "DELETE"
        case .containerCredentials, .presignedUpload, .multipartParts, .sessionKeys, .health, .readiness, .metrics,
            .status, .companionForm, .companionUpload, .companionBatch, .companionPart, .companionCredentials:
            "GET"
        }
    }

    /// ``method``, and what else the path takes.
    package var methods: [String] { [method] + (otherMethod.map { [$0] } ?? []) }

    package func takes(_ method: String) -> Bool { method == self.method || method == otherMethod }

    private var otherMethod: String? { self == .companionUpload ? "DELETE" : nil }

    /// Whether it is one of Uppy's server, Companion, whose wire these routes speak.
    package var isCompanion: Bool { rawValue.hasPrefix("/companion/") }

    /// Whether HEAD is handled as GET, without the body: probes of load balancers send it.
    package var answersHead: Bool { [.health, .readiness, .metrics, .status].contains(self) }
}

/// The limits both sides know.
package enum WireLimits {
    package static let maximumKeysPerRequest = 100
    /// Amazon S3 User Guide, "Object key names": bytes of UTF-8.
    package static let maximumKeyBytes = 1024
    /// URLs of parts in one response.
    package static let maximumPartsPerRequest = 100
}
