import CloakroomKit

extension CloakroomError {
    /// The only conversion of CloudKit's errors to the kit's.
    ///
    /// - Parameter doing: such as `storing photo-…`.
    init(_ fault: CloudFault, doing: String) {
        var retryAfter: Duration?
        let (code, reason): (Code, String)
        switch fault {
        case .busy(let told):
            retryAfter = told
            (code, reason) = (.tooManyRequests, "CloudKit is busy")
        case .limitExceeded: (code, reason) = (.bodyTooLarge, "the record is too large")
        case .partialFailure, .changeTokenExpired: (code, reason) = (.unavailable, "CloudKit did only a part of it")
        case .accountUnavailable: (code, reason) = (.unavailable, "the iCloud account is temporarily unavailable")
        case .notAuthenticated: (code, reason) = (.unauthorized, "no iCloud account is signed in")
        case .accountChanged: (code, reason) = (.accountChanged, "the iCloud account is not that of these photos")
        case .quotaExceeded: (code, reason) = (.storageQuotaExceeded, "the user's iCloud storage is full")
        case .userDeletedZone, .zoneNotFound: (code, reason) = (.zoneDeleted, "the zone of the photos was deleted")
        case .encryptedDataReset: (code, reason) = (.encryptedDataReset, "the user has reset the encrypted data")
        case .unknownItem: (code, reason) = (.noSuchObject, "there is no such record")
        case .recordChanged: (code, reason) = (.conditionFailed, "the server has another version of the record")
        case .unreachable: (code, reason) = (.unreachable, "CloudKit cannot be reached")
        case .responseLost: (code, reason) = (.unreachable, "the response was lost")
        case .cancelled: (code, reason) = (.cancelled, "the task was cancelled")
        case .unreadableFile: (code, reason) = (.unreadableFile, "the file cannot be read, or has changed")
        case .unwritableFile(let isFull):
            (code, reason) = (isFull ? .diskFull : .unwritableFile, "the file cannot be written")
        case .assetNotAvailable: (code, reason) = (.unavailable, "the asset is not available")
        case .refused(let number): (code, reason) = (.accessDenied, "CloudKit refuses it (CKError \(number))")
        case .other(let number): (code, reason) = (.internalError, "CloudKit failed (CKError \(number))")
        }
        self.init(code, "\(doing): \(reason)", retryAfter: retryAfter)
    }
}
