package import Foundation
import Synchronization

/// A wall clock that a test sets; it begins at 2027-01-15T08:00:00Z.
package final class TestClock: Sendable {
    private let instant = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

    package init() {}

    package var now: Date { instant.withLock { $0 } }

    package func pass(_ seconds: Double) { instant.withLock { $0 += seconds } }
}
