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
