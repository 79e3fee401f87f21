import CloakroomCLinux
import Foundation
import Synchronization

/// A child process: started with its output in a file, ended by its id and no other way.
///
/// It is told to go when this process ends, however that happens (PR_SET_PDEATHSIG, through setpriv(1)).
final class RunningProgram: Sendable {
    let pid: pid_t
    /// Standard output and standard error.
    let output: String
    private let end = Mutex<Int32?>(nil)

    struct LaunchError: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter atDeath: the signal it gets when this process ends first.
    init(
        _ path: String, _ arguments: [String], output: String, environment: [String: String] = [:],
        atDeath: String = "KILL"
    ) throws {
        self.output = output
        let words = ["setpriv", "--pdeathsig", atDeath, "--", path] + arguments
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("AWS_") }
        variables.merge(environment) { $1 }
        pid = try Self.spawn(words, variables.map { "\($0.key)=\($0.value)" }, output)
    }

    // MARK: Its end

    /// As a shell tells it: the exit status, or 128 and the signal; `nil` while it runs.
    var status: Int32? {
        end.withLock { end in
            var raw: Int32 = 0
            guard end == nil, waitpid(pid, &raw, WNOHANG) == pid else { return end }
            end = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
            return end
        }
    }

    var isRunning: Bool { status == nil }

    func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

    /// - Returns: the exit status.
    func waitForEnd(within limit: Duration = .seconds(10)) throws -> Int32? {
        try wait(for: "the end of process \(pid)", within: limit) { !isRunning }
        return status
    }

    /// - Returns: the exit status; 137 if it had to be killed.
    @discardableResult
    func stop(_ number: Int32 = SIGTERM, within limit: Duration = .seconds(8)) -> Int32? {
        signal(number)
        if (try? waitForEnd(within: limit)) == nil {
            signal(SIGKILL)
            _ = try? waitForEnd()
        }
        return status
    }

    var text: String { RunFolder.text(of: output) }

    // MARK: Starting

    /// The death signal comes when the *thread* that started the child ends: so it is one that never does.
    private static func spawn(_ words: [String], _ variables: [String], _ output: String) throws -> pid_t {
        let result = starter.run { Self.spawnHere(words, variables, output) }
        guard result > 0 else { throw LaunchError(description: "\(words[4]): \(String(cString: strerror(-result)))") }
        return result
    }

    private static let starter = OwnThread()

    private static func spawnHere(_ words: [String], _ variables: [String], _ output: String) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Sockets of tests that go on beside: a child that kept them open would keep their peers waiting.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, words[0], &actions, &attributes, &argv, &envp)
        return code == 0 ? pid : -code
    }
}
