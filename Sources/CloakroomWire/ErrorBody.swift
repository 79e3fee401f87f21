package import CloakroomJSON

/// The error code in a response's body; a code once given keeps its meaning.
package enum ErrorCode: String, Sendable, Codable, CaseIterable {
    case invalidRequest = "invalid_request"
    case unauthorized
    /// The token is from before the user was revoked: sign in again.
    case sessionRevoked = "session_revoked"
    case forbidden
    case userDisabled = "user_disabled"
    case subscriptionRequired = "subscription_required"
    case storageQuotaExceeded = "storage_quota_exceeded"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case bodyTooLarge = "body_too_large"
    case contentTypeNotAllowed = "content_type_not_allowed"
    /// A multipart upload that is not the caller's, or no longer there.
    case uploadNotFound = "upload_not_found"
    /// Parts of it are missing, or not as they were to be.
    case uploadIncomplete = "upload_incomplete"
    /// The operator has not set up images of chats, or no longer has.
    case chatNotEnabled = "chat_not_enabled"
    case tooManyRequests = "too_many_requests"
    case unavailable
    case internalError = "internal_error"

    /// The HTTP status that it comes with; a content type that an upload may not have is refused by 400.
    package var status: Int {
        switch self {
        case .invalidRequest: 400
        case .unauthorized, .sessionRevoked: 401
        case .forbidden, .userDisabled, .subscriptionRequired, .storageQuotaExceeded: 403
        case .notFound, .uploadNotFound, .chatNotEnabled: 404
        case .methodNotAllowed: 405
        case .uploadIncomplete: 409
        case .bodyTooLarge: 413
        case .contentTypeNotAllowed: 415
        case .tooManyRequests: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }
}

/// Why a multipart upload is not complete: ``ErrorBody/reason`` with ``ErrorCode/uploadIncomplete``.
package enum UploadIncompleteReason: String, Sendable, CaseIterable {
    case partMissing = "part_missing"
    case partLength = "part_length"
    case partETag = "part_etag"
    case etagCount = "etag_count"
    /// The store refuses parts that are all there.
    case partsRefused = "parts_refused"
}

/// The body of every error response.
package struct ErrorBody: Sendable, Equatable, Codable {
    /// A sentence for people.
    package var error: String
    /// A code this version does not know stays as it came; `nil` from backends that have none.
    package var code: String?
    /// Which of the code's reasons it is; `nil` for a code that has but one.
    package var reason: String?
    /// ``error`` once more, where Uppy reads it: on the routes of Companion alone.
    package var message: String?

    package init(error: String, code: ErrorCode, reason: String? = nil) {
        self.error = error
        self.code = code.rawValue
        self.reason = reason
    }
}

extension ErrorBody: WireBody {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("error", error)
        if let code { writer.member("code", code) }
        if let reason { writer.member("reason", reason) }
        if let message { writer.member("message", message) }
        writer.endObject()
    }
}
