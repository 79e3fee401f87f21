import CloakroomCLinux
import CloakroomLoop
import Glibc

/// A program that workers run: the same file also when another one lies at its path, or none.
final class WorkerProgram: Sendable {
    /// Run as long as it leads to the file: tools such as top(1) name the processes by it.
    private let path: String
    private let source: String
    /// `nil` where there is no such file.
    private let identity: FileIdentity?
    /// Keeps the file; `nil` where it may be run and not read.
    private let descriptor: Int32?

    /// - Parameters:
    ///   - path: where the file lies, or lay.
    ///   - source: what leads to the file now: the same path, or ``ProgramFile/own``.
    init(path: String, source: String) {
        self.path = path
        self.source = source
        let raw = cloakroom_open(source, O_RDONLY | O_CLOEXEC, 0)
        descriptor = raw >= 0 ? raw : nil
        identity = raw >= 0 ? FileIdentity(descriptor: raw) : FileIdentity(source)
    }

    deinit { if let descriptor { close(descriptor) } }

    /// - Parameter descriptors: the process has them as 3, 4, …; behind them may be one of the program.
    func spawn(_ arguments: [String], descriptors: [Int32]) throws(SystemError) -> pid_t {
        if identity == nil || FileIdentity(path) == identity {
            return try ChildProcess.spawn(path, arguments: arguments, descriptors: descriptors)
        }
        guard let descriptor else {
            return try ChildProcess.spawn(source, arguments: arguments, descriptors: descriptors)
        }
        // The child's own descriptor: where core dumps are refused it may not open the supervisor's (proc(5)).
        return try ChildProcess.spawn(
            "/proc/self/fd/\(3 + descriptors.count)", arguments: arguments, descriptors: descriptors + [descriptor])
    }
}
