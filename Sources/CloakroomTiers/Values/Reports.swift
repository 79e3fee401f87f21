public import CloakroomKit
public import Foundation

/// What came of a run, also of one that was stopped.
public struct TieringReport: Sendable, Equatable {
    public var uploaded = 0
    public var uploadedBytes: Int64 = 0
    /// Photos whose file was removed from the device, and how many bytes that freed; in a preview, that it would free.
    public var evicted = 0
    public var evictedBytes: Int64 = 0
    /// Objects that were deleted in the cold tier, because the user had removed the photos.
    public var deleted = 0
    /// Photos that are due and could not leave the device.
    public var kept = 0
    /// Of single photos; the first 100.
    public var failures: [Failure] = []
    /// Why a photo of the inbox could not be added; it stays there. `nil` when all were.
    public var inboxFailure: CloakroomError?
    /// Why the run ended early; `nil` when it did all there was to do.
    public var stoppedBy: CloakroomError?
    public var alarms: [TierAlarm] = []

    public struct Failure: Sendable, Equatable {
        public var photo: PhotoID
        public var error: CloakroomError

        public init(photo: PhotoID, error: CloakroomError) {
            self.photo = photo
            self.error = error
        }
    }

    public init() {}
}

/// What stops eviction until the user or the operator has looked at it.
public struct TierAlarm: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Photos that were proven are absent from the cold tier.
        case missing
        /// A rule of the store is going to delete photos.
        case expiring
        /// Photos were moved to an archive class, from which they cannot be read at once.
        case archived
        /// Photos have other bytes than were proven.
        case changed
        /// Another account is signed in. It is not dismissed: see ``TieredPhotoStore/acceptAccount(_:)``.
        case accountChanged
        /// The user's other device has dismissed this one. It goes on as another device; photos that were removed elsewhere
        /// may be gone.
        case dismissed
    }

    public var kind: Kind
    /// Of the photos that were looked at.
    public var photoCount: Int
    /// The key of one of them; empty where the alarm is of none.
    public var example: String
    public var since: Date

    public init(kind: Kind, photoCount: Int, example: String, since: Date) {
        self.kind = kind
        self.photoCount = photoCount
        self.example = example
        self.since = since
    }
}

/// Whether space is freed, or only counted.
public enum FreeSpaceMode: Sendable, Hashable { case preview, perform }

/// What came of downloading all photos.
public struct DownloadReport: Sendable, Equatable {
    public var restored = 0
    public var restoredBytes: Int64 = 0
    /// Photos that the cold tier does not have any more.
    public var missing = 0
    public var failures: [TieringReport.Failure] = []
    public var stoppedBy: CloakroomError?

    public init() {}
}

/// What came of making the catalog anew.
public struct RebuildReport: Sendable, Equatable {
    public var photos = 0
    /// Of these, photos that no snapshot names: they have no name, and their date is the listing's.
    public var unnamed = 0
    /// Photos of snapshots that are not in the listing.
    public var missing = 0
    /// Files on this device that are in the catalog again.
    public var adopted = 0
    /// Files among the photos that are none, or whose bytes are not those of their name; they stay where they are.
    public var ignoredFiles = 0
    /// Names that photos of different bytes have: the one of this device keeps it, and of others the one published last.
    public var nameConflicts = 0

    /// Documents of devices that could not be read: the names of their photos may be lacking.
    public var unreadableDocuments = 0

    public init() {}
}

/// How much is where, in bytes.
public struct StorageUsage: Sendable, Equatable {
    public var photoCount = 0
    /// Photos that extensions have left, and that the next run adds: until then they may be on this device alone. No other
    /// number here includes them. See ``TieredPhotoStore/leave(_:name:takenAt:inInboxOf:)``.
    public var inboxCount = 0
    /// Photos with a file on this device, and the disk space these have.
    public var hotCount = 0
    public var hotBytes: Int64 = 0
    /// Photos in the cold tier, those that are on the device too included: the sum of their sizes.
    public var coldCount = 0
    public var coldBytes: Int64 = 0
    public var missingCount = 0
    /// Photos on this device without a thumbnail: they stay on it. Of those that no thumbnail could be made of, another attempt is
    /// made once a week.
    public var withoutThumbnailCount = 0
    public var thumbnailBytes: Int64 = 0
    /// The disk space of the catalog, thumbnails included.
    public var catalogBytes: Int64 = 0
    /// As long as there are any, nothing that the user removes is deleted in the cold tier, so no room is made there.
    public var absentDevices: [AbsentDevice] = []

    public init() {}
}

/// What downloading all photos takes.
public struct DownloadPlan: Sendable, Equatable {
    /// Photos that are not on this device; those that were missing in the cold tier are looked for again.
    public var photoCount: Int
    public var byteCount: Int64
    /// Free on the disk of the store's folder, less what stays free; `nil` where the system does not say.
    public var availableBytes: Int64?

    public init(photoCount: Int, byteCount: Int64, availableBytes: Int64?) {
        self.photoCount = photoCount
        self.byteCount = byteCount
        self.availableBytes = availableBytes
    }

    /// Whether all of it fits; the store looks again before it begins.
    public var hasRoom: Bool { availableBytes.map { $0 >= byteCount } ?? true }
}

/// What ``TieredPhotoStore/acceptAccount(_:)`` would do.
public struct AccountChange: Sendable, Equatable {
    /// The one that is signed in.
    public var account: TierIdentity
    /// Photos on this device that this account does not have: they are uploaded to it.
    public var photoCount: Int
    /// Of these photos.
    public var byteCount: Int64
    /// Photos that are in another account alone: they cannot be opened while this one is signed in.
    public var unreachableCount: Int

    public init(account: TierIdentity, photoCount: Int, byteCount: Int64, unreachableCount: Int) {
        self.account = account
        self.photoCount = photoCount
        self.byteCount = byteCount
        self.unreachableCount = unreachableCount
    }
}
