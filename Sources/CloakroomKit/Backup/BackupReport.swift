public import Foundation

/// What one run of a backup did, and what it left.
public struct BackupReport: Sendable, Equatable {
    /// Files whose photo was stored in this run.
    public internal(set) var backedUp = 0
    /// Files whose photo S3 had, as it said in this run, or within ``PhotoBackup/Options/recheckInterval`` before it.
    public internal(set) var alreadyThere = 0
    /// What could not be backed up, and why.
    public internal(set) var failures: [Failure] = []
    /// Files that were not finished, because the run ended early.
    public internal(set) var remaining = 0
    /// Of photos, thumbnails and documents that S3 stored in this run.
    public internal(set) var bytesUploaded: Int64 = 0
    /// Why the run ended early: no token, no rights, no space, server unreachable, or cancelled; `nil` when every file was
    /// attempted.
    public internal(set) var stoppedBy: CloakroomError?
    /// Why the ``PhotoIndex`` could not be written, such as a full disk; nothing is lost by it but the time to read files
    /// again. `nil` when it was written, or when there is none.
    public internal(set) var indexFailure: CloakroomError?

    /// Whether S3 has every file.
    public var isComplete: Bool { stoppedBy == nil && failures.isEmpty && remaining == 0 }

    /// One file, and why S3 does not have it.
    public struct Failure: Sendable, Equatable {
        public let file: URL
        public let error: CloakroomError
    }
}
