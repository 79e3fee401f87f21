import Foundation
import Synchronization

/// A wall clock that a test sets; it begins at 2027-01-15T08:00:00Z.
final class TestClock: Sendable {
    private let instant = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

    var now: Date { instant.withLock { $0 } }

    func pass(_ seconds: Double) { instant.withLock { $0 += seconds } }
}
