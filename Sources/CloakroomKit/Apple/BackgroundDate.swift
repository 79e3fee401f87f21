import Foundation

/// When work in the background is to begin at the earliest.
enum BackgroundDate {
    /// - Parameters:
    ///   - due: when there is something to do; `nil` for `interval` from now.
    ///   - pending: of the request that the system has already, which is never postponed; `nil` without one.
    static func next(due: Date?, interval: Duration, pending: Date?, now: Date) -> Date {
        let wanted = due ?? now.addingTimeInterval(interval / .seconds(1))
        return min(wanted, pending ?? wanted)
    }
}
