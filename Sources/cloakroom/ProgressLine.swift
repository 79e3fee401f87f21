import Glibc
import CloakroomLoop

/// How far a long command is, on one line of standard error, if that is a terminal.
struct ProgressLine {
    private let what: String
    private let total: Int
    private let isShown = isatty(STDERR_FILENO) == 1
    private var next: UInt64 = 0

    /// - Parameter total: 0 when it is not known.
    init(what: String, total: Int) {
        self.what = what
        self.total = total
    }

    /// At most five times a second.
    mutating func show(_ done: Int) {
        guard isShown, Monotonic.now >= next else { return }
        next = Monotonic.now + 200_000_000
        let share = total > 0 ? "\(min(100, done * 100 / total)) %" : "\(done)"
        write("\r\u{1B}[K\(what): \(share)")
    }

    func clear() { if isShown { write("\r\u{1B}[K") } }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
