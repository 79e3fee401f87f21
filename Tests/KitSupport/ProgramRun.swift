package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import CloakroomCLinux
    import Glibc
#endif

/// A program that was run to its end.
///
/// It has a thread of its own to wait for it, and neither a pipe nor a run loop: so tests can run any number of them beside
/// each other, and none of Swift's threads waits.
package struct ProgramRun: Sendable {
    package enum End: Sendable, Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    package let end: End
    /// What it wrote to standard output, and with it to standard error unless that was left out.
    package let output: String

    package struct LaunchError: Error {
        package let program: String
        package let number: Int32
    }

    /// It took too long and was killed.
    package struct TimeoutError: Error { package let output: String }

    /// - Parameters:
    ///   - includesErrors: whether the output has what it writes to standard error, too.
    ///   - timeout: less than the time that a test has.
    package init(
        _ program: URL, _ arguments: [String], includesErrors: Bool = true, timeout: Duration = .seconds(50)
    ) async throws {
        self = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try Self.wait(for: program, arguments, includesErrors, .now + timeout) })
            }
        }
    }

    private init(end: End, output: String) {
        self.end = end
        self.output = output
    }

    /// Blocks its thread.
    private static func wait(
        for program: URL, _ arguments: [String], _ includesErrors: Bool, _ deadline: ContinuousClock.Instant
    ) throws -> ProgramRun {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("output-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try start(program, arguments, outputFile: file.path, includesErrors)
        var status: Int32 = 0
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { break }
            guard ended == 0 || errno == EINTR else { throw LaunchError(program: program.path, number: errno) }
            guard .now < deadline else {
                kill(process, SIGKILL)
                waitpid(process, &status, 0)
                throw TimeoutError(output: text(of: file))
            }
            usleep(1000)
        }
        let signal = status & 0x7F
        return ProgramRun(
            end: signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal), output: text(of: file))
    }

    private static func text(of file: URL) -> String {
        String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
    }

    private static func start(
        _ program: URL, _ arguments: [String], outputFile: String, _ includesErrors: Bool
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if includesErrors {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        // Nothing of ours stays open in it.
        #if canImport(Darwin)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
        #else
            posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        #endif
        let words = ([program.path] + arguments).map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + environment { free(word) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, program.path, &actions, &attributes, words, environment)
        guard code == 0 else { throw LaunchError(program: program.path, number: code) }
        return process
    }
}
