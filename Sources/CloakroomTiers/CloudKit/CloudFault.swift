import Foundation

/// Why CloudKit did not do something. A case is one decision of the caller.
enum CloudFault: Error, Sendable, Equatable {
    /// Wait as told, or for a little while, and send the request again.
    case busy(retryAfter: Duration?)
    /// Send fewer records in a request.
    case limitExceeded
    /// Of the records of a request, those that failed.
    case partialFailure([String: CloudFault])
    case changeTokenExpired
    /// The account needs the user, such as for a password; it is the same account.
    case accountUnavailable
    case notAuthenticated
    /// The account is not the one that the tier works for.
    case accountChanged
    case quotaExceeded
    /// In the system's settings, for all devices.
    case userDeletedZone
    case zoneNotFound
    /// The user has lost the keys of all data, and with them the data.
    case encryptedDataReset
    case unknownItem
    /// The server has another version of the record.
    case recordChanged(CloudRecord?)
    case unreachable
    /// What was requested may have happened.
    case responseLost
    case cancelled
    case unreadableFile
    case unwritableFile(isFull: Bool)
    /// The record is there, and its asset is not to be had.
    case assetNotAvailable
    /// Refused, and it will be the next time: permissions, entitlements, the container.
    case refused(code: Int)
    case other(code: Int)

    /// - Parameters:
    ///   - code: of `CKError.Code`.
    ///   - retryAfter: in seconds.
    ///   - isReset: `CKErrorUserDidResetEncryptedDataKey`.
    init(
        code: Int, retryAfter: Double? = nil, isReset: Bool = false, serverRecord: CloudRecord? = nil,
        partial: [String: CloudFault] = [:]
    ) {
        switch code {
        case 2: self = .partialFailure(partial)
        case 3, 4: self = .unreachable
        // serviceUnavailable, requestRateLimited, zoneBusy. A record of a batch that failed for another one can be
        // saved the next time.
        case 6, 7, 22, 23: self = .busy(retryAfter: retryAfter.flatMap { $0 >= 0 ? .seconds($0) : nil })
        case 9: self = .notAuthenticated
        case 11: self = .unknownItem
        case 14: self = .recordChanged(serverRecord)
        // assetFileNotFound, assetFileModified.
        case 16, 17: self = .unreadableFile
        case 20: self = .cancelled
        case 21: self = .changeTokenExpired
        case 25: self = .quotaExceeded
        case 26: self = isReset ? .encryptedDataReset : .zoneNotFound
        case 27: self = .limitExceeded
        case 28: self = .userDeletedZone
        case 34: self = .responseLost
        case 35: self = .assetNotAvailable
        case 36: self = .accountUnavailable
        // badContainer, missingEntitlement, permissionFailure, invalidArguments, serverRejectedRequest,
        // incompatibleVersion, constraintViolation, badDatabase, managedAccountRestricted.
        case 5, 8, 10, 12, 15, 18, 19, 24, 32: self = .refused(code: code)
        default: self = .other(code: code)
        }
    }

    /// `nil` when the account can be used.
    init?(_ status: CloudAccountStatus) {
        switch status {
        case .available: return nil
        case .noAccount: self = .notAuthenticated
        case .restricted: self = .refused(code: 32)
        case .temporarilyUnavailable, .couldNotDetermine: self = .accountUnavailable
        }
    }
}
