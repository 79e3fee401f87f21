import CLinux

/// Whole lines to a file or to standard error, written at the end of the turn, all of a turn in one call; never blocks.
@LoopActor
package final class LineSink {
    private let descriptor: Descriptor
    private let isSocket: Bool
    private var bytes: [UInt8] = []
    private var outcomes: [@LoopActor (Bool) -> Void] = []
    private var isScheduled = false
    private var lines = 0
    private var endsInHalfALine = false

    /// Told at the end of the turn how many lines were not taken whole.
    package var onLoss: (@LoopActor (Int) -> Void)?

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
        lines += 1
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
        let count = unsafe bytes.withUnsafeBytes { bytes in
            unsafe isSocket
                ? cloakroom_send(descriptor.raw, bytes.baseAddress, bytes.count)
                : CLinux.write(descriptor.raw, bytes.baseAddress, bytes.count)
        }
        if count > 0 { endsInHalfALine = bytes[count - 1] != UInt8(ascii: "\n") }
        // A part of the lines is not the lines: what reads them cannot tell which were cut.
        let isWritten = count == bytes.count
        if !isWritten { onLoss?(lines) }
        bytes.removeAll(keepingCapacity: bytes.count < 1 << 20)
        lines = 0
        let waiting = outcomes
        outcomes.removeAll()
        for outcome in waiting { outcome(isWritten) }
    }
}
