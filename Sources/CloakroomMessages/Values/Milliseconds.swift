package import Foundation

/// A time since 1970, or a duration; arithmetic ends at the type's bounds instead of trapping.
package typealias Milliseconds = Int64

extension Milliseconds {
    /// The latest time that JSON's numbers hold exactly: 2⁵³ − 1.
    package static let latestTime: Milliseconds = 1 << 53 - 1
    package static let second: Milliseconds = 1000
    package static let day: Milliseconds = 86_400_000

    package func plus(_ other: Milliseconds) -> Milliseconds {
        let (sum, isOver) = addingReportingOverflow(other)
        guard isOver else { return sum }
        return other > 0 ? .max : .min
    }

    package func minus(_ other: Milliseconds) -> Milliseconds {
        let (difference, isOver) = subtractingReportingOverflow(other)
        guard isOver else { return difference }
        return other > 0 ? .min : .max
    }

    /// This time, or the nearest one from 1970 to ``latestTime``.
    package var asTime: Milliseconds { Swift.min(Swift.max(self, 0), .latestTime) }

    /// Rounded down; a date beyond ``latestTime`` is that, one that is no number is 1970.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        guard milliseconds > 0 else {
            self = 0
            return
        }
        self = milliseconds < Double(Self.latestTime) ? Milliseconds(milliseconds) : .latestTime
    }

    /// Rounded down.
    package init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (product, isOver) = seconds.multipliedReportingOverflow(by: 1000)
        guard !isOver else {
            self = seconds > 0 ? .max : .min
            return
        }
        let rest = attoseconds / 1_000_000_000_000_000
        self = product.plus(attoseconds % 1_000_000_000_000_000 < 0 ? rest - 1 : rest)
    }

    package var date: Date { Date(timeIntervalSince1970: Double(self) / 1000) }
}
