import Foundation

/// When a second `not_found` is one of another day.
enum DeletionConfirmation {
    static let minimumInterval: TimeInterval = 12 * 3600
    /// An older first check is ignored: no later response has confirmed it.
    static let maximumInterval: TimeInterval = 90 * 86_400

    /// - Parameters:
    ///   - first: by the device's clock, as `second` is.
    ///   - elapsed: between the two by the monotonic clock; `nil` when the process was restarted in between.
    static func isAnotherDay(first: Date, second: Date, elapsed: Duration?) -> Bool {
        let interval = second.timeIntervalSince(first)
        guard interval >= minimumInterval, utcDay(first) != utcDay(second) else { return false }
        return elapsed.map { $0 >= .seconds(minimumInterval) } ?? true
    }

    /// Whether the first check is unreliable, because the clock was set back since or it is too long ago.
    static func isVoid(first: Date, now: Date) -> Bool {
        first > now || now.timeIntervalSince(first) > maximumInterval
    }

    private static func utcDay(_ date: Date) -> Double { (date.timeIntervalSince1970 / 86_400).rounded(.down) }
}
