/// What one run of a restore did, and what it left.
public struct RestoreReport: Sendable, Equatable {
    /// Photos that were fetched in this run.
    public internal(set) var restored = 0
    /// Photos whose bytes were in the folder.
    public internal(set) var alreadyThere = 0
    /// What could not be fetched, and why.
    public internal(set) var failures: [Failure] = []
    /// Photos that were not finished, because the run ended early.
    public internal(set) var remaining = 0
    public internal(set) var bytesDownloaded: Int64 = 0
    /// Why the run ended early; `nil` when every photo was attempted.
    public internal(set) var stoppedBy: CloakroomError?

    /// Whether the folder has every photo that S3 has.
    public var isComplete: Bool { stoppedBy == nil && failures.isEmpty && remaining == 0 }

    /// One photo, and why the folder does not have it.
    public struct Failure: Sendable, Equatable {
        public let key: String
        public let error: CloakroomError
    }
}
