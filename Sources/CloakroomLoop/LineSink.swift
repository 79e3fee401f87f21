import CloakroomCLinux

/// Whole lines to a file or to standard error, many in one call; never blocks.
///
/// A file that was moved, as a rotation does, is left for the one at its path a minute later, see ``watch()``: a worker that is
/// being replaced meanwhile ends in the former one. One that was removed gets no more lines.
@LoopActor
package final class LineSink {
    private var descriptor: Descriptor
    private let path: String?
    private let isSocket: Bool
    private let followsAfter: Duration
    /// In ``Monotonic`` nanoseconds: since when the path leads elsewhere.
    private var leftSince: UInt64?
    private var bytes: [UInt8] = []
    private var isScheduled = false
    private var lines = 0
    private var endsMidLine = false

    /// Told at the end of the turn how many lines were not taken whole.
    package var onLoss: (@LoopActor (Int) -> Void)?

    /// - Parameters:
    ///   - path: appended to, created with mode 0640; `nil` for standard error.
    ///   - followsAfter: how long the path leads to another file, or to none, before that is written.
    package init(path: String?, followsAfter: Duration = .seconds(60)) throws(SystemError) {
        self.path = path
        self.followsAfter = followsAfter
        if let path {
            descriptor = try Self.open(path)
            endsMidLine = Self.endsMidLine(path)
        } else {
            descriptor = try Descriptor(checking: cloakroom_open_lines(STDERR_FILENO))
        }
        isSocket = cloakroom_is_socket(descriptor.raw) != 0
    }

    private static func open(_ path: String) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC
        return try Descriptor(checking: unsafe cloakroom_open(path, flags, 0o640))
    }

    /// Whether a regular file's last line has no end: its writer was killed, or the disk was full.
    private static func endsMidLine(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & UInt32(S_IFMT) == UInt32(S_IFREG), status.st_size > 0,
            let file = try? Descriptor(checking: unsafe cloakroom_open(path, O_RDONLY | O_CLOEXEC, 0))
        else { return false }
        var last: UInt8 = 0
        return unsafe pread(file.raw, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }

    /// Looks regularly from now on whether the path leads to the file still. Not when there is a line to write: the first one
    /// after a rotation may come when the former file is compressed already.
    package func watch() {
        guard path != nil else { return }
        EventPoller.shared.schedule(after: min(followsAfter / 10, .seconds(5))) { [weak self] in
            self?.follow()
            self?.watch()
        }
    }

    /// Of the file that is open; `nil` for standard error, and for what is no file, such as a pipe.
    private var opened: stat? {
        var status = stat()
        guard path != nil, unsafe fstat(descriptor.raw, &status) == 0,
            status.st_mode & UInt32(S_IFMT) == UInt32(S_IFREG)
        else { return nil }
        return status
    }

    private func follow() {
        guard let path, let opened else { return }
        var named = stat()
        if unsafe stat(path, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev {
            leftSince = nil
            return
        }
        let since = leftSince ?? Monotonic.now
        leftSince = since
        if opened.st_nlink == 0 || Monotonic.now &- since >= followsAfter.nanoseconds { reopen() }
    }

    /// - Returns: whether the file that is open is the one at the path.
    @discardableResult
    private func reopen() -> Bool {
        guard let path else { return false }
        do throws(SystemError) { descriptor = try Self.open(path) } catch { return false }
        endsMidLine = Self.endsMidLine(path)
        leftSince = nil
        return true
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
        // What goes to a file without a name is lost, and would count as taken.
        if opened?.st_nlink == 0, !reopen() { return 0 }
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
