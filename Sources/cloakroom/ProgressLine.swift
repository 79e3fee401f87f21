import Glibc
import CloakroomLoop

/// How far a long command is, on one line of standard error, if that is a terminal.
final class ProgressLine {
    private let what: String
    private let total: Int
    private let isShown = isatty(STDERR_FILENO) == 1
    private var next: UInt64 = 0

    /// - Parameters:
    ///   - what: stands before a number that is shown.
    ///   - total: 0 when it is not known.
    init(what: String = "", total: Int = 0) {
        self.what = what
        self.total = total
    }

    /// At most five times a second.
    func update(_ done: Int) {
        update("\(what): " + (total > 0 ? "\(min(100, done * 100 / total)) %" : "\(done)"))
    }

    /// At most five times a second.
    func update(_ text: @autoclosure () -> String) {
        guard isShown, Monotonic.now >= next else { return }
        next = Monotonic.now + 200_000_000
        Output.overwrite(text())
    }

    func show(_ text: @autoclosure () -> String) { if isShown { Output.overwrite(text()) } }

    func clear() { show("") }
}
