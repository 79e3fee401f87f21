package import Foundation
import Synchronization

/// A wall clock that a test sets; it begins at 2027-01-15T08:00:00Z.
package final class TestClock: Sendable {
    private let instant: Mutex<Date>

    package init(_ start: Date = Date(timeIntervalSince1970: 1_800_000_000)) { instant = Mutex(start) }

    package var now: Date { instant.withLock { $0 } }

    /// - Parameter seconds: negative for a clock that is set back.
    package func pass(_ seconds: Double) { instant.withLock { $0 += seconds } }
    package func pass(days: Double) { pass(days * 86_400) }
    package func set(_ date: Date) { instant.withLock { $0 = date } }
}
