import CloakroomWire

/// The codes that clients of STS know; they decide by them what to do next.
///
/// Source: AWS STS API Reference, AssumeRoleWithWebIdentity and "Common Errors"; botocore's and the other SDKs' rules for
/// what is tried again: `IDPCommunicationError` and `Throttling` at once and in time, `ExpiredTokenException` with a token
/// read anew.
enum STSErrorCode: String, Sendable, CaseIterable {
    case expiredToken = "ExpiredTokenException"
    case invalidToken = "InvalidIdentityToken"
    case rejectedClaim = "IDPRejectedClaim"
    case issuerUnreachable = "IDPCommunicationError"
    case throttling = "Throttling"
    case validation = "ValidationError"
    case missingParameter = "MissingParameter"
    case invalidAction = "InvalidAction"
    case accessDenied = "AccessDenied"
    case unavailable = "ServiceUnavailable"
    case internalFailure = "InternalFailure"

    var status: Int {
        switch self {
        case .expiredToken, .invalidToken, .issuerUnreachable, .throttling, .validation, .missingParameter,
            .invalidAction:
            400
        case .rejectedClaim, .accessDenied: 403
        case .internalFailure: 500
        case .unavailable: 503
        }
    }

    /// What an error of the other routes is here, where nothing more is known of it.
    init(_ code: ErrorCode) {
        self =
            switch code {
            case .unauthorized: .invalidToken
            case .sessionRevoked, .userDisabled: .rejectedClaim
            case .forbidden, .subscriptionRequired, .storageQuotaExceeded: .accessDenied
            case .tooManyRequests: .throttling
            case .unavailable: .unavailable
            case .internalError: .internalFailure
            case .methodNotAllowed: .invalidAction
            case .invalidRequest, .notFound, .bodyTooLarge, .contentTypeNotAllowed, .uploadNotFound, .uploadIncomplete,
                .chatNotEnabled:
                .validation
            }
    }

    init(_ refusal: IdentityRefusal) {
        self =
            switch refusal {
            case .token(.expired): .expiredToken
            case .keysUnavailable: .issuerUnreachable
            default: .invalidToken
            }
    }
}
