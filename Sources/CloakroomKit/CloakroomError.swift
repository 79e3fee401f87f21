import CloakroomWire

/// What went wrong, with a code to decide by.
///
/// It is a struct so that new codes do not break apps: decide by ``code`` with a `default`.
public struct CloakroomError: Error, Sendable, Equatable {
    public var code: Code
    /// A sentence for people who build the app; not for its users, who have ``errorDescription``.
    public var message: String
    /// Of the response; `nil` when there was none.
    public var status: Int?
    /// The code as the server or S3 sent it, also when ``code`` is ``Code/unknown``.
    public var serverCode: String?
    /// How long to wait before the next request, as the server says.
    public var retryAfter: Duration?
    /// What the operator finds the request by, from `X-Request-Id` or `x-amz-request-id`.
    public var requestID: String?

    public init(
        _ code: Code, _ message: String, status: Int? = nil, serverCode: String? = nil, retryAfter: Duration? = nil,
        requestID: String? = nil
    ) {
        self.code = code
        self.message = message
        self.status = status
        self.serverCode = serverCode
        self.retryAfter = retryAfter
        self.requestID = requestID
    }

    /// What an app can decide by.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public var description: String { rawValue }

        /// A code this version does not know; ``CloakroomError/serverCode`` has it.
        public static let unknown = Code(rawValue: "unknown")

        // As the worker says them.
        public static let invalidRequest = Code(rawValue: "invalid_request")
        /// Not signed in, or no longer: the token provider was called again, and that did not help.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The user's sessions were ended by the operator: sign out, and let the user sign in again.
        public static let sessionRevoked = Code(rawValue: "session_revoked")
        public static let forbidden = Code(rawValue: "forbidden")
        public static let userDisabled = Code(rawValue: "user_disabled")
        public static let subscriptionRequired = Code(rawValue: "subscription_required")
        public static let storageQuotaExceeded = Code(rawValue: "storage_quota_exceeded")
        public static let notFound = Code(rawValue: "not_found")
        public static let methodNotAllowed = Code(rawValue: "method_not_allowed")
        public static let bodyTooLarge = Code(rawValue: "body_too_large")
        public static let contentTypeNotAllowed = Code(rawValue: "content_type_not_allowed")
        public static let uploadNotFound = Code(rawValue: "upload_not_found")
        public static let uploadIncomplete = Code(rawValue: "upload_incomplete")
        /// The operator has set up no images of chats.
        public static let chatNotEnabled = Code(rawValue: "chat_not_enabled")
        /// Retry after ``CloakroomError/retryAfter``.
        public static let tooManyRequests = Code(rawValue: "too_many_requests")
        /// Retry later.
        public static let unavailable = Code(rawValue: "unavailable")
        public static let internalError = Code(rawValue: "internal_error")

        /// Those of the worker.
        static let known = Set(ErrorCode.allCases.map { Code(rawValue: $0.rawValue) })

        // As the kit itself says them.
        /// No network, or the server is unreachable.
        public static let unreachable = Code(rawValue: "unreachable")
        public static let timedOut = Code(rawValue: "timed_out")
        /// The app's token provider threw, or gave no usable token.
        public static let tokenUnavailable = Code(rawValue: "token_unavailable")
        /// The server's certificate is not acceptable.
        public static let untrusted = Code(rawValue: "untrusted")
        public static let cancelled = Code(rawValue: "cancelled")
        /// The network may not be used now, as in low data mode.
        public static let notAllowedNow = Code(rawValue: "not_allowed_now")
        /// The user has paused it.
        public static let paused = Code(rawValue: "paused")
        /// The battery is too low for work in the background, or the device has to charge for it.
        public static let lowPower = Code(rawValue: "low_power")
        /// The user has not allowed the app to run in the background.
        public static let backgroundNotAllowed = Code(rawValue: "background_not_allowed")
        /// The user has not allowed the app to read photos.
        public static let photosNotAllowed = Code(rawValue: "photos_not_allowed")
        /// A response that is not the worker's or S3's, such as a captive portal's.
        public static let invalidResponse = Code(rawValue: "invalid_response")
        /// S3 refuses: the session's policy does not allow it.
        public static let accessDenied = Code(rawValue: "access_denied")
        /// S3 says `NoSuchKey`.
        public static let noSuchObject = Code(rawValue: "no_such_object")
        /// In an archive tier; it has to be restored first.
        public static let archived = Code(rawValue: "archived")
        /// A condition of the request does not hold, such as that the object is new.
        public static let conditionFailed = Code(rawValue: "condition_failed")
        /// The URL for the upload has expired; request another one.
        public static let uploadURLExpired = Code(rawValue: "upload_url_expired")
        /// The bytes that arrived are not those that were sent.
        public static let checksumMismatch = Code(rawValue: "checksum_mismatch")
        /// A file could not be read, or changed while it was.
        public static let unreadableFile = Code(rawValue: "unreadable_file")
        public static let unwritableFile = Code(rawValue: "unwritable_file")
        public static let diskFull = Code(rawValue: "disk_full")
        /// The kit's own records could not be read or written.
        public static let storeFailed = Code(rawValue: "store_failed")
        /// Another process has the right to write to these files.
        public static let storeInUse = Code(rawValue: "store_in_use")
        /// A store or a journal is another user's, or of another endpoint: see ``StoreOwner``.
        public static let storeOwnerMismatch = Code(rawValue: "store_owner_mismatch")
        /// A later version of the app has written these records: nothing was changed, and that version can read them.
        public static let laterVersion = Code(rawValue: "later_version")
    }
}

extension CloakroomError: CustomStringConvertible {
    /// Such as `too_many_requests: Too many renewal requests (status 429, request 3f…)`.
    public var description: String {
        var details: [String] = []
        if let status { details.append("status \(status)") }
        if let serverCode, serverCode != code.rawValue { details.append(serverCode) }
        if let requestID { details.append("request \(requestID)") }
        return "\(code): \(message)" + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))")
    }
}

extension CloakroomError {
    /// Whether the same call can succeed later without anything being done about it: "tap to retry".
    public var isRetryable: Bool {
        switch code {
        case .unreachable, .timedOut, .tooManyRequests, .unavailable, .internalError, .invalidResponse, .notAllowedNow,
            .lowPower, .cancelled, .tokenUnavailable, .unauthorized, .storeInUse, .checksumMismatch:
            true
        default: false
        }
    }
}

extension CloakroomError {
    /// What else fails in the same way, if it is attempted at once.
    enum Reach {
        /// Nothing, as far as is known: this file, key or asset alone.
        case one
        /// Everything, if the failure persists.
        case perhapsAll
        case all
    }

    var reach: Reach {
        switch code {
        case .unauthorized, .sessionRevoked, .tokenUnavailable, .forbidden, .userDisabled, .subscriptionRequired,
            .storageQuotaExceeded, .accessDenied, .diskFull, .storeFailed, .storeOwnerMismatch,
            .notAllowedNow, .paused, .lowPower, .photosNotAllowed, .untrusted:
            .all
        case .unreachable, .timedOut, .tooManyRequests, .unavailable, .internalError, .invalidResponse: .perhapsAll
        default: .one
        }
    }
}
