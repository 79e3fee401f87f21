import Glibc
import Loop

/// The other end of the workers' lifelines; copies of the reference share it.
final class SharedLifeline: Sendable {
    let lifeline: Lifeline

    init(_ lifeline: consuming Lifeline) { self.lifeline = lifeline }
}

/// How a worker is started.
struct WorkerProgram {
    let lifeline: SharedLifeline
    let settingsFile: String

    /// - Returns: its process id, and the counter that its loop adds to.
    func start(on address: String) throws(SystemError) -> (process: pid_t, heartbeat: MappedCounters) {
        let (heartbeat, memory) = try MappedCounters.shared(count: 1)
        let arguments = [
            "cloakroom", "serve", "--listen", address, "--lifeline", "3", "--heartbeat", "4", settingsFile,
        ]
        let process = try memory.withDescriptor { (memory) throws(SystemError) in
            try ChildProcess.spawn(
                Self.path, arguments: arguments, descriptors: [lifeline.lifeline.readEnd.raw, memory])
        }
        return (process, heartbeat)
    }

    /// Where this program lies now: after an upgrade, the new one.
    private static var path: String {
        let name = CommandLine.arguments[0]
        return name.contains("/") ? name : "/proc/self/exe"
    }
}
