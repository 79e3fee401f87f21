public import CloakroomKit

extension TierLanguage {
    /// What VoiceOver says of a picture in the grid, such as "Photo, 24 December 2025, in the cloud, pinned".
    public func label(of item: TimelineItem) -> String {
        ([text(.photoLabel, day(item.takenAt))] + item.badges.map { text($0.label) }).joined(separator: ", ")
    }

    /// What VoiceOver says of the progress of a download.
    ///
    /// - Parameter fraction: from 0 to 1; `nil` while nothing is known of it.
    public func loadingLabel(_ fraction: Double?) -> String {
        guard let fraction else { return text(.loading) }
        return text(.loadingLabel, percent(fraction))
    }

    /// Why something failed, for the user; ``CloakroomError/message`` is for the developer.
    public func failure(_ error: CloakroomError) -> String { text(Self.key(of: error.code)) }

    private static func key(of code: CloakroomError.Code) -> TierText {
        switch code {
        case .unreachable, .timedOut: .failureOffline
        case .notAllowedNow: .failureNotAllowedNow
        case .tooManyRequests, .unavailable, .internalError, .invalidResponse, .checksumMismatch: .failureBusy
        case .unauthorized, .tokenUnavailable, .sessionRevoked: .failureSignIn
        case .forbidden, .userDisabled, .accessDenied: .failureRefused
        case .subscriptionRequired: .failureSubscription
        case .storageQuotaExceeded: .failureQuota
        case .archived: .failureArchived
        case .photoMissing, .noSuchObject: .failureMissing
        case .photoExpiring: .failureExpiring
        case .photoCollision: .failureCollision
        case .photoDamaged: .failureDamaged
        case .accountChanged, .storeOwnerMismatch: .failureOtherAccount
        case .diskFull: .failureNoRoom
        case .storeFailed, .unreadableFile, .unwritableFile: .failureDevice
        case .storeInUse: .failureInUse
        case .noSuchPhoto: .failureRemoved
        case .untrusted: .failureUntrusted
        case .zoneDeleted, .encryptedDataReset: .failureZone
        case .alarmRaised: .failureAlarm
        case .clockWentBack: .failureClock
        case .cancelled: .failureStopped
        default: .failureOther
        }
    }
}
