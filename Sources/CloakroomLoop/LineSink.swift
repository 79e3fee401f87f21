import CloakroomCLinux

/// Whole lines to a file or to standard error, many in one call; never blocks.
@LoopActor
package final class LineSink {
    private let descriptor: Descriptor
    private let isSocket: Bool
    private var bytes: [UInt8] = []
    private var isScheduled = false
    private var lines = 0
    private var endsMidLine = false

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

    /// Put down at the end of the turn, or lost.
    ///
    /// - Parameter line: without a line feed.
    package func append(_ line: [UInt8]) {
        bytes += line
        bytes.append(UInt8(ascii: "\n"))
        lines += 1
        guard !isScheduled else { return }
        isScheduled = true
        EventPoller.shared.atTurnEnd { [self] in
            isScheduled = false
            flush()
        }
    }

    /// Written at once, in one call, behind what was appended before.
    ///
    /// - Parameters:
    ///   - lines: each with its line feed.
    ///   - ends: where each ends.
    /// - Returns: how many of them, from the first on, were taken whole; what was cut after them is no line.
    package func write(_ lines: [UInt8], ends: [Int]) -> Int {
        flush()
        let written = put(lines)
        return written == lines.count ? ends.count : ends.count { $0 <= written }
    }

    private func flush() {
        guard !bytes.isEmpty else { return }
        let (count, lines) = (bytes.count, lines)
        let written = put(bytes)
        let kept = written == count ? lines : bytes[..<written].count { $0 == UInt8(ascii: "\n") }
        bytes.removeAll(keepingCapacity: count < 1 << 20)
        self.lines = 0
        // Last, for the callback may append.
        if kept < lines { onLoss?(lines - kept) }
    }

    /// - Returns: how many of the bytes were taken.
    private func put(_ bytes: [UInt8]) -> Int {
        // What is left of a line that was cut must not swallow the next.
        let startsNewLine = endsMidLine
        let bytes = startsNewLine ? [UInt8(ascii: "\n")] + bytes : bytes
        let count = unsafe bytes.withUnsafeBytes { bytes in
            unsafe isSocket
                ? cloakroom_send(descriptor.raw, bytes.baseAddress, bytes.count)
                : CloakroomCLinux.write(descriptor.raw, bytes.baseAddress, bytes.count)
        }
        if count > 0 { endsMidLine = bytes[count - 1] != UInt8(ascii: "\n") }
        return max(0, count - (startsNewLine ? 1 : 0))
    }
}
