/// What went wrong, for the users of an app: one text for each ``CloakroomError/Code``, by a key to translate.
///
/// The key is `error.` and the code. ``english`` stands where an app has no text of its own: see ``ErrorLanguage``.
public enum ErrorText: String, Sendable, CaseIterable {
    // As the worker says them.
    case unknown = "error.unknown"
    case invalidRequest = "error.invalid_request"
    case unauthorized = "error.unauthorized"
    case sessionRevoked = "error.session_revoked"
    case forbidden = "error.forbidden"
    case userDisabled = "error.user_disabled"
    case subscriptionRequired = "error.subscription_required"
    case storageQuotaExceeded = "error.storage_quota_exceeded"
    case notFound = "error.not_found"
    case methodNotAllowed = "error.method_not_allowed"
    case bodyTooLarge = "error.body_too_large"
    case contentTypeNotAllowed = "error.content_type_not_allowed"
    case uploadNotFound = "error.upload_not_found"
    case uploadIncomplete = "error.upload_incomplete"
    case chatNotEnabled = "error.chat_not_enabled"
    case tooManyRequests = "error.too_many_requests"
    case unavailable = "error.unavailable"
    case internalError = "error.internal_error"

    // As the kit says them.
    case unreachable = "error.unreachable"
    case timedOut = "error.timed_out"
    case tokenUnavailable = "error.token_unavailable"
    case untrusted = "error.untrusted"
    case cancelled = "error.cancelled"
    case notAllowedNow = "error.not_allowed_now"
    case paused = "error.paused"
    case lowPower = "error.low_power"
    case backgroundNotAllowed = "error.background_not_allowed"
    case photosNotAllowed = "error.photos_not_allowed"
    case invalidResponse = "error.invalid_response"
    case accessDenied = "error.access_denied"
    case noSuchObject = "error.no_such_object"
    case archived = "error.archived"
    case conditionFailed = "error.condition_failed"
    case uploadURLExpired = "error.upload_url_expired"
    case checksumMismatch = "error.checksum_mismatch"
    case unreadableFile = "error.unreadable_file"
    case unwritableFile = "error.unwritable_file"
    case diskFull = "error.disk_full"
    case storeFailed = "error.store_failed"
    case storeInUse = "error.store_in_use"
    case storeOwnerMismatch = "error.store_owner_mismatch"
    case laterVersion = "error.later_version"

    // As CloakroomTiers says them.
    case photoCollision = "error.photo_collision"
    case photoExpiring = "error.photo_expiring"
    case photoMissing = "error.photo_missing"
    case photoDamaged = "error.photo_damaged"
    case nameTaken = "error.name_taken"
    case noSuchPhoto = "error.no_such_photo"
    case accountChanged = "error.account_changed"
    case zoneDeleted = "error.zone_deleted"
    case encryptedDataReset = "error.encrypted_data_reset"
    case alarmRaised = "error.alarm_raised"
    case clockWentBack = "error.clock_went_back"

    // As CloakroomMessages says them.
    case invalidControlMessage = "error.invalid_control_message"
    case vaultLost = "error.vault_lost"
    case vaultLocked = "error.vault_locked"

    /// - Returns: ``unknown`` for a code that this version has no text for.
    public init(of code: CloakroomError.Code) { self = Self(rawValue: "error.\(code.rawValue)") ?? .unknown }
}

extension ErrorText {
    /// What the user can do about it.
    public var suggestion: ErrorSuggestion {
        switch self {
        case .noSuchObject, .noSuchPhoto, .vaultLost: .none
        case .timedOut, .cancelled, .checksumMismatch: .tryAgain
        case .tooManyRequests, .unavailable, .internalError: .tryLater
        case .unauthorized, .tokenUnavailable: .tryThenSignIn
        case .unreachable: .connect
        case .notAllowedNow: .useFreeNetwork
        case .paused: .resume
        case .lowPower: .charge
        case .backgroundNotAllowed: .allowBackground
        case .photosNotAllowed: .allowPhotos
        case .invalidResponse: .signInToNetwork
        case .untrusted: .useAnotherNetwork
        case .storeInUse: .closeElsewhere
        case .sessionRevoked: .signIn
        case .storeOwnerMismatch, .accountChanged: .signInAsBefore
        case .subscriptionRequired: .subscribe
        case .storageQuotaExceeded: .makeRoomInStorage
        case .diskFull: .freeSpace
        case .invalidRequest, .notFound, .methodNotAllowed, .laterVersion, .invalidControlMessage: .updateApp
        case .uploadNotFound, .uploadIncomplete, .uploadURLExpired: .uploadAgain
        case .archived: .restoreFirst
        case .conditionFailed: .reload
        case .bodyTooLarge, .contentTypeNotAllowed, .unreadableFile, .photoDamaged: .chooseAnother
        case .nameTaken: .chooseAnotherName
        case .unwritableFile, .storeFailed: .restartDevice
        case .vaultLocked: .unlock
        case .clockWentBack: .setClock
        case .zoneDeleted, .encryptedDataReset, .alarmRaised: .decideInApp
        case .unknown, .forbidden, .userDisabled, .chatNotEnabled, .accessDenied, .photoCollision, .photoExpiring,
            .photoMissing:
            .contactSupport
        }
    }
}
