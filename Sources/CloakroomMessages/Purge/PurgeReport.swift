public import CloakroomKit

/// What a purge has done.
public struct PurgeReport: Sendable, Equatable {
    /// Messages that are gone.
    public var purgedCount = 0
    /// Images that the bucket is to delete, since they were recorded: sending that is not part of a purge.
    public var releaseCount = 0
    /// Keys that are dropped, and that the vault still could open: a rotation follows within a minute.
    public var isRotationPending = false
    /// Another connection reads the database: what is gone is still in its log, sealed.
    public var isCheckpointPending = false
    /// Why it ended before all was done; the next purge continues. `nil`: all is done, except what is pending.
    public var stoppedBy: CloakroomError?

    /// Whether nothing is left to be done.
    public var isComplete: Bool { !isRotationPending && !isCheckpointPending && stoppedBy == nil }

    public init() {}
}
