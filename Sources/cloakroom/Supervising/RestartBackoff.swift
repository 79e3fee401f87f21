import CloakroomLoop

/// How long to wait before a worker is started again: the first time at once, longer and longer while they crash soon
/// after their start, so that a broken installation does not eat the machine.
struct RestartBackoff {
    private var crashesInARow = 0

    /// A worker that lived so long was well: what came before it is forgotten.
    static let soon: Duration = .seconds(10)
    static let longest: Duration = .seconds(10)

    mutating func pause(afterUptime uptime: Duration) -> Duration {
        guard uptime < Self.soon else {
            crashesInARow = 0
            return .zero
        }
        defer { crashesInARow += 1 }
        guard crashesInARow > 0 else { return .zero }
        return min(Self.longest, .milliseconds(100) * (1 << min(crashesInARow, 10)))
    }
}

/// When workers whose sockets are gone are replaced: as after crashes, at once, and later and later while their successors do
/// not come up or lose theirs, too. A folder that was removed takes no socket.
struct SocketRepair {
    private var backoff = RestartBackoff()
    private var endedAt: UInt64?
    private var dueAt: UInt64?

    /// - Parameter now: in ``Monotonic`` nanoseconds, at which sockets are gone.
    mutating func isDue(at now: UInt64) -> Bool {
        if let endedAt, dueAt == nil {
            let pause = backoff.pause(afterUptime: .nanoseconds(Int64(clamping: now &- endedAt)))
            dueAt = now &+ pause.nanoseconds
        }
        guard dueAt ?? now <= now else { return false }
        dueAt = nil
        return true
    }

    /// The workers are replaced, or could not be.
    mutating func ended(at now: UInt64) { endedAt = now }
}
