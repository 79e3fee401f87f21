import CloakroomCLinux

/// Processes that this one starts, and hears of when they end.
package enum ChildProcess {
    package enum Termination: Sendable, Equatable, CustomStringConvertible {
        case exited(status: Int32)
        case killed(signal: Int32)

        package var description: String {
            switch self {
            case .exited(let status): "exited with \(status)"
            case .killed(let signal): "killed by signal \(signal)"
            }
        }
    }

    /// Starts a program with no signal blocked and every signal at its default.
    ///
    /// - Parameters:
    ///   - arguments: the first is the program's own name.
    ///   - descriptors: the child has them as 3, 4, …, and no other of ours beyond standard error.
    /// - Returns: its process id.
    package static func spawn(
        _ path: String, arguments: [String], descriptors: [Int32]
    ) throws(SystemError) -> Int32 {
        // First out of the way of the numbers that are to be given, then to them.
        let spare = descriptors.map { cloakroom_duplicate($0, 64) }
        defer { for descriptor in spare where descriptor >= 0 { close(descriptor) } }
        return try unsafe start(arguments, path: path, given: Int32(descriptors.count)) { actions in
            for (offset, descriptor) in spare.enumerated() {
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + offset))
            }
        }
    }

    /// - Parameters:
    ///   - path: of the program; `nil`: the first argument, looked for in `PATH`.
    ///   - given: how many descriptors beyond standard error `redirect` gives it, from 3 on; all others close, those
    ///     too that this process was given without close-on-exec.
    ///   - leadsGroup: whether it gets a process group of its own.
    ///   - redirect: says what the child's descriptors are to be.
    static func start(
        _ arguments: [String], path: String?, given: Int32 = 0, leadsGroup: Bool = false,
        redirect: (inout posix_spawn_file_actions_t) -> Void
    ) throws(SystemError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe redirect(&actions)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3 + given)
        var none = sigset_t()
        var all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        var child: Int32 = 0
        let code = unsafe withArguments(arguments) { words in
            if let path {
                unsafe posix_spawn(&child, path, &actions, &attributes, words, cloakroom_environment())
            } else {
                unsafe posix_spawnp(&child, arguments[0], &actions, &attributes, words, cloakroom_environment())
            }
        }
        guard code == 0 else { throw SystemError(code: code) }
        return child
    }

    /// - Parameter body: given the arguments as a program's `argv`, which goes when this returns.
    static func withArguments<Result>(
        _ arguments: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        return unsafe body(words)
    }

    /// - Returns: those that have ended since the last call; signals about them merge, so ask for all.
    package static func reap() -> [(child: Int32, end: Termination)] {
        var ended: [(Int32, Termination)] = []
        var status: Int32 = 0
        while true {
            let child = unsafe waitpid(-1, &status, WNOHANG)
            guard child > 0 else { return ended }
            let signal = cloakroom_signalled(status)
            ended.append((child, signal >= 0 ? .killed(signal: signal) : .exited(status: cloakroom_exited(status))))
        }
    }
}

/// A pipe whose other end says, by ending, that the process that holds it is gone.
package struct Lifeline: ~Copyable {
    /// For the children.
    package let readEnd: Descriptor
    private let writeEnd: Descriptor

    /// - Parameter ends: those of a lifeline that this process had before it ran this program; owned from here on.
    package init(adopting ends: (read: Int32, write: Int32)) {
        readEnd = Descriptor(owning: ends.read)
        writeEnd = Descriptor(owning: ends.write)
        _ = cloakroom_close_on_exec(ends.read, 1)
        _ = cloakroom_close_on_exec(ends.write, 1)
    }

    /// Open as long as the lifeline is.
    package var ends: (read: Int32, write: Int32) { (readEnd.raw, writeEnd.raw) }

    package init() throws(SystemError) {
        let pipe = try Pipe()
        readEnd = pipe.readEnd
        writeEnd = pipe.writeEnd
    }
}

extension ChildProcess {
    /// Runs another program in place of this one (execve(2)): the process id, the children, and the signals that are
    /// blocked or pending stay. Returns only when that failed.
    ///
    /// - Parameters:
    ///   - arguments: the first is the program's own name.
    ///   - descriptors: stay open under their numbers; every other one beyond standard error closes.
    package static func replaceProgram(
        with path: String, arguments: [String], keeping descriptors: [Int32]
    ) -> SystemError {
        for descriptor in descriptors { _ = cloakroom_close_on_exec(descriptor, 0) }
        defer { for descriptor in descriptors { _ = cloakroom_close_on_exec(descriptor, 1) } }
        return unsafe withArguments(arguments) { words in
            _ = unsafe execve(path, words, cloakroom_environment())
            return SystemError()
        }
    }
}
