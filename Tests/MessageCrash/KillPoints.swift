import Foundation
import Synchronization

/// Counts the points that were crossed, and does not survive the last one.
final class KillPoints: Sendable {
    private let rest: Mutex<Int>

    init(last: Int) { rest = Mutex(last) }

    func cross() {
        let isLast = rest.withLock { rest in
            rest -= 1
            return rest == 0
        }
        if isLast { kill(getpid(), SIGKILL) }
    }
}
