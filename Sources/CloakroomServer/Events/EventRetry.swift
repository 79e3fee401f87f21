import CloakroomCrypto

/// When an event that was not delivered is posted again: exponential backoff with jitter, and never while an attempt may
/// still be under way.
///
/// The jitter is made of the event and the attempt, so that all workers agree on the time.
struct EventRetry: Sendable {
    static let base: Duration = .seconds(1)
    static let cap: Duration = .seconds(900)

    /// Of one attempt.
    let timeout: Duration

    /// No event is due sooner.
    var minimumDelay: Duration { timeout + Self.base / 2 }

    /// - Parameters:
    ///   - attempts: how many there were, from 1.
    ///   - id: of the entry.
    /// - Returns: since the last attempt began.
    func delay(afterAttempts attempts: Int, of id: String) -> Duration {
        let full = min(Self.cap, Self.base * (1 << min(max(attempts, 1) - 1, 20)))
        return timeout + full * (0.5 + 0.5 * Self.jitter("\(id) \(attempts)"))
    }

    func isDue(_ pending: EventStream.Pending) -> Bool {
        pending.idle >= delay(afterAttempts: pending.attempts, of: pending.id)
    }

    /// 0…1, as good as random.
    private static func jitter(_ text: String) -> Double {
        let digest = SHA256.hash(Array(text.utf8))
        return Double(Int(digest[0]) << 8 | Int(digest[1])) / 65_535
    }
}
