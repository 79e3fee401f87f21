import CLinux

/// Whole lines to a file or to standard error, written at the end of the turn, all of a turn in one call; never blocks.
@LoopActor
package final class LineSink {
    private let descriptor: Descriptor
    private let isSocket: Bool
    private var bytes: [UInt8] = []
    private var outcomes: [@LoopActor (Bool) -> Void] = []
    private var isScheduled = false
    private var endsInHalfALine = false

    /// - Parameter path: appended to, created with mode 0640; `nil` for standard error.
    package init(path: String?) throws(SystemError) {
        if let path {
            let flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC
            descriptor = try Descriptor(checking: unsafe cloakroom_open(path, flags, 0o640))
        } else {
            descriptor = try Descriptor(checking: cloakroom_open_lines(STDERR_FILENO))
        }
        isSocket = cloakroom_is_socket(descriptor.raw) != 0
    }

    /// - Parameters:
    ///   - line: without its line feed.
    ///   - outcome: told at the end of the turn whether the line has been taken whole.
    package func append(_ line: [UInt8], outcome: (@LoopActor (Bool) -> Void)? = nil) {
        bytes += line
        bytes.append(UInt8(ascii: "\n"))
        if let outcome { outcomes.append(outcome) }
        guard !isScheduled else { return }
        isScheduled = true
        Reactor.shared.atTurnEnd { [self] in
            isScheduled = false
            flush()
        }
    }

    /// - Returns: when the line has been taken whole, or has not.
    package func write(_ line: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            append(line) { continuation.resume(returning: $0) }
        }
    }

    private func flush() {
        // What is left of a line that was cut must not swallow the next.
        if endsInHalfALine { bytes.insert(UInt8(ascii: "\n"), at: 0) }
        let (lines, waiting) = (bytes, outcomes)
        bytes.removeAll(keepingCapacity: lines.count < 1 << 20)
        outcomes = []
        let count = unsafe lines.withUnsafeBytes { lines in
            unsafe isSocket
                ? cloakroom_send(descriptor.raw, lines.baseAddress, lines.count)
                : CLinux.write(descriptor.raw, lines.baseAddress, lines.count)
        }
        // A part of the lines is not the lines: what reads them cannot tell which were cut.
        if count > 0 { endsInHalfALine = count < lines.count && lines[count - 1] != UInt8(ascii: "\n") }
        for outcome in waiting { outcome(count == lines.count) }
    }
}
