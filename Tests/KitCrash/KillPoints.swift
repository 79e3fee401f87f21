import Foundation

/// Counts the points that were crossed, and does not survive the last one.
actor KillPoints {
    private var rest: Int

    init(last: Int) { rest = last }

    func cross() {
        rest -= 1
        if rest == 0 { kill(getpid(), SIGKILL) }
    }
}
