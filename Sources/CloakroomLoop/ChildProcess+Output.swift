import CloakroomCLinux

extension ChildProcess {
    /// Why a program gave no output.
    package enum OutputError: Error, Sendable, Equatable {
        case notStarted(SystemError)
        /// More than was wanted, or later.
        case tooMuch
        case timeout
        case ended(Termination)
    }

    /// Runs a program, found along `PATH`, in the environment of this one, and gives what it wrote to standard output.
    ///
    /// Its standard input is empty, and its standard error goes nowhere: what a program complains of may hold secrets.
    /// It has a process group of its own, which is killed when it takes too long or writes too much.
    /// - Parameters:
    ///   - arguments: the first is the program.
    ///   - limit: bytes.
    @LoopActor
    package static func output(
        of arguments: [String], limit: Int, timeout: Duration
    ) async throws(OutputError) -> [UInt8] {
        let run: ProgramRun
        do throws(SystemError) { run = try ProgramRun(arguments, limit: limit) } catch { throw .notStarted(error) }
        let result = await withCheckedContinuation { run.start($0, timeout: timeout) }
        return try result.get()
    }
}

/// One program, from its start until its process is gone.
@LoopActor
private final class ProgramRun {
    typealias Outcome = Result<[UInt8], ChildProcess.OutputError>

    private let child: Int32
    private let limit: Int
    private let output: Descriptor
    private let process: Descriptor
    private var outputWatch: EventPoller.Watch?
    /// Until the process has ended and is waited for; it keeps this object.
    private var processWatch: EventPoller.Watch?
    private var timer: TimerID?
    private var continuation: CheckedContinuation<Outcome, Never>?
    private var bytes: [UInt8] = []

    init(_ arguments: [String], limit: Int) throws(SystemError) {
        let pipe = try Pipe()
        _ = cloakroom_nonblocking(pipe.readEnd.raw)
        child = try Self.spawn(arguments, output: pipe.writeEnd.raw)
        self.limit = limit
        // Readable when the process has ended (pidfd_open(2)).
        let process = cloakroom_pidfd(child)
        guard process >= 0 else {
            let error = SystemError()
            CloakroomCLinux.kill(-child, SIGKILL)
            waitpid(child, nil, 0)
            throw error
        }
        output = pipe.readEnd
        self.process = Descriptor(owning: process)
    }

    func start(_ continuation: CheckedContinuation<Outcome, Never>, timeout: Duration) {
        self.continuation = continuation
        outputWatch = EventPoller.shared.watch(output.raw, for: [.readable, .hangup]) { _ in self.read() }
        processWatch = EventPoller.shared.watch(process.raw, for: .readable) { _ in self.ended() }
        timer = EventPoller.shared.schedule(after: timeout) { self.giveUp(because: .timeout) }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe CloakroomCLinux.read(output.raw, bytes.baseAddress, bytes.count)
            }
            guard count > 0 else {
                // All was read; only its end is left to wait for.
                if count == 0, let outputWatch { EventPoller.shared.unwatch(outputWatch) }
                return
            }
            guard bytes.count + count <= limit else { return giveUp(because: .tooMuch) }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private func ended() {
        if continuation != nil { read() }
        var status: Int32 = 0
        let waited = unsafe waitpid(child, &status, WNOHANG)
        guard waited != 0 else { return }
        if let processWatch { EventPoller.shared.unwatch(processWatch) }
        processWatch = nil
        guard waited == child, continuation != nil else { return }
        let signal = cloakroom_signalled(status)
        let code = cloakroom_exited(status)
        if signal >= 0 {
            finish(.failure(.ended(.killed(signal: signal))))
        } else {
            finish(code == 0 ? .success(bytes) : .failure(.ended(.exited(status: code))))
        }
    }

    private func giveUp(because error: ChildProcess.OutputError) {
        guard continuation != nil else { return }
        CloakroomCLinux.kill(-child, SIGKILL)
        finish(.failure(error))
    }

    /// The outcome is known; the process may have yet to end: one that is killed while it waits for a disk does so late.
    private func finish(_ outcome: Outcome) {
        if let outputWatch { EventPoller.shared.unwatch(outputWatch) }
        outputWatch = nil
        if let timer { EventPoller.shared.cancel(timer) }
        let continuation = continuation
        self.continuation = nil
        continuation?.resume(returning: outcome)
    }

    private static func spawn(_ arguments: [String], output: Int32) throws(SystemError) -> Int32 {
        try unsafe ChildProcess.start(arguments, path: nil, leadsGroup: true) { actions in
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
    }
}
