/// The routes of the worker; the raw value is the path as it is sent, before `?`.
package enum Route: String, Sendable, CaseIterable {
    case stsToken = "/api/v1/auth/sts-token"
    case session = "/api/v1/auth/session"
    case sessionKeys = "/.well-known/jwks.json"
    case appleNotifications = "/api/v1/auth/apple/notifications"
    case containerCredentials = "/v1/credentials"
    case presignedUpload = "/v2/attachments/presigned"
    case renewBatch = "/v2/assets/renew-batch"
    case renewOne = "/v2/assets/renew"
    case health = "/healthz"
    case readiness = "/readyz"
    case metrics = "/metrics"

    package var method: String {
        switch self {
        case .stsToken, .session, .appleNotifications, .renewBatch: "POST"
        case .renewOne: "PUT"
        case .containerCredentials, .presignedUpload, .sessionKeys, .health, .readiness, .metrics: "GET"
        }
    }
}

/// The limits both sides know.
package enum WireLimits {
    package static let maximumKeysPerRequest = 100
    /// Amazon S3 User Guide, "Object key names": bytes of UTF-8.
    package static let maximumKeyBytes = 1024
}
