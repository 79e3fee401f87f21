public import Foundation

/// How far the recovery of one asset is.
public struct RecoveryRecord: Sendable, Equatable {
    public var asset: RenewableAsset
    /// Of the object that is gone.
    public var key: String
    /// When S3 said so; for ``Step/missing`` the look that a second one has to follow.
    public var since: Date
    public var step: Step
    /// Why the server does not take the upload, and until when it is not asked again.
    public var refusal: Refusal?

    public init(asset: RenewableAsset, key: String, since: Date, step: Step, refusal: Refusal? = nil) {
        self.asset = asset
        self.key = key
        self.since = since
        self.step = step
        self.refusal = refusal
    }

    var isUploaded: Bool {
        if case .uploaded = step { true } else { false }
    }

    public enum Step: Sendable, Equatable {
        /// No bytes were cached; nothing happens before a second look.
        case missing
        /// Bytes are cached; a place for them has to be asked for.
        case expired
        /// Perhaps they are there already.
        case uploading(UploadDestination)
        /// They are there; the app's database has to learn their URL.
        case uploaded(RecoveredObject)
        /// Seen to be gone on two days; the app's database has to learn that.
        case clearing
    }

    public struct Refusal: Sendable, Equatable {
        public var code: CloakroomError.Code
        public var until: Date

        public init(code: CloakroomError.Code, until: Date) {
            self.code = code
            self.until = until
        }
    }
}

/// A place that was handed out for the bytes of an asset.
///
/// Its upload URL opens that place to whoever has it, until it ends or the bytes are there.
public struct UploadDestination: Sendable, Equatable {
    public var target: UploadTarget
    /// Of the bytes it was asked for.
    public var byteCount: Int64
    public var requestedAt: Date

    public init(target: UploadTarget, byteCount: Int64, requestedAt: Date) {
        self.target = target
        self.byteCount = byteCount
        self.requestedAt = requestedAt
    }
}

/// The object that takes the place of the one that is gone.
public struct RecoveredObject: Sendable, Equatable {
    public var key: String
    public var url: URL
    /// No later than its clock in S3 began.
    public var storedAt: Date

    public init(key: String, url: URL, storedAt: Date) {
        self.key = key
        self.url = url
        self.storedAt = storedAt
    }
}
