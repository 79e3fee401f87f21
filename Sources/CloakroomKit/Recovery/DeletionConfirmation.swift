import Foundation

/// When a second `not_found` is one of another day.
enum DeletionConfirmation {
    static let minimumInterval: TimeInterval = 12 * 3600
    /// An older first look counts for nothing: the asset was not asked for since, or nobody told us.
    static let maximumInterval: TimeInterval = 90 * 86_400

    /// - Parameters:
    ///   - first: by the device's clock, as `second` is.
    ///   - elapsed: between the two by a clock that nobody sets; `nil` when the process is another one since.
    static func isAnotherDay(first: Date, second: Date, elapsed: Duration?) -> Bool {
        let interval = second.timeIntervalSince(first)
        guard interval >= minimumInterval, utcDay(first) != utcDay(second) else { return false }
        return elapsed.map { $0 >= .seconds(minimumInterval) } ?? true
    }

    /// Whether a first look cannot be relied on, because the clock was set back since or it is too long ago.
    static func isVoid(first: Date, now: Date) -> Bool {
        first > now || now.timeIntervalSince(first) > maximumInterval
    }

    private static func utcDay(_ date: Date) -> Double { (date.timeIntervalSince1970 / 86_400).rounded(.down) }
}
