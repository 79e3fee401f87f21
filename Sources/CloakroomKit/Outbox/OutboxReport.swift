public import Foundation

/// What one run of an ``Outbox`` did, and what it left.
public struct OutboxReport: Sendable, Equatable {
    /// Items that S3 has since this run.
    public internal(set) var sent = 0
    public internal(set) var bytesSent: Int64 = 0
    /// Items that can only be retried or removed by the app since this run.
    public internal(set) var failed = 0
    /// What is left.
    public internal(set) var unsent = UnsentWork(items: 0, bytes: 0, failed: 0)
    /// Why the run ended before each item was attempted: paused, signed out, the network may not be used, the server is
    /// unreachable or refuses the user; `nil` when each was.
    public internal(set) var stoppedBy: CloakroomError?
    /// When the next item is due, by the device's clock; `nil` when none waits for a time.
    public internal(set) var nextAttempt: Date?

    public var isComplete: Bool { unsent.isEmpty }
}

/// What becomes of what is unsent when the user signs out.
public enum OutboxSignOut: Sendable, Equatable {
    /// It is sent for at most so long; the rest is kept.
    case afterSending(within: Duration)
    /// It waits on this device for the same user at the same endpoint.
    case keepingUnsent
    /// It is removed from this device.
    case discardingUnsent
}

/// What a sign-out did.
public struct OutboxSignOutReport: Sendable, Equatable {
    /// Items that were sent by ``OutboxSignOut/afterSending(within:)``.
    public internal(set) var sent = 0
    /// What waits for the same user.
    public internal(set) var kept = UnsentWork(items: 0, bytes: 0, failed: 0)
    /// What ``OutboxSignOut/discardingUnsent`` removed. S3 may have those that were being sent, all the same.
    public internal(set) var removed: [OutboxItem] = []
    /// Why not everything was sent, such as ``CloakroomError/Code/timedOut`` when the time was over.
    public internal(set) var stoppedBy: CloakroomError?
}
