public import Foundation

/// How far the recovery of one asset is.
public struct RecoveryRecord: Sendable, Equatable {
    public var asset: RenewableAsset
    /// Of the object that is gone.
    public var key: String
    /// When S3 said so; for ``Step/missing`` the first check, which a second one has to follow.
    public var since: Date
    public var step: Step
    /// Why the server refuses the upload, and until when no request is sent for it.
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
        /// No bytes were cached; nothing happens before a second check.
        case missing
        /// Bytes are cached; an upload URL has to be requested for them.
        case expired
        /// They may be uploaded already.
        case uploading(UploadDestination)
        /// They are uploaded; their URL has to be written to the app's database.
        case uploaded(RecoveredObject)
        /// Reported missing on two days; the URL has to be cleared in the app's database.
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

/// An upload destination that was issued for the bytes of an asset.
///
/// The upload URL is a bearer secret: it allows this one upload until it expires or the object exists.
public struct UploadDestination: Sendable, Equatable {
    public var target: UploadTarget
    /// Of the bytes it was requested for.
    public var byteCount: Int64
    public var requestedAt: Date

    public init(target: UploadTarget, byteCount: Int64, requestedAt: Date) {
        self.target = target
        self.byteCount = byteCount
        self.requestedAt = requestedAt
    }
}

/// The object that replaces the one that is gone.
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
