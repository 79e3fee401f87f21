import Glibc
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

/// Programs that a worker runs, with a shell as the program.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct ProgramOutputTests {
    @LoopActor private func outcome(
        _ script: String, limit: Int = 100, timeout: Duration = .seconds(20)
    ) async -> Result<String, ChildProcess.OutputError> {
        do throws(ChildProcess.OutputError) {
            let bytes = try await ChildProcess.output(
                of: ["sh", "-c", script, "sh", "a  b"], limit: limit, timeout: timeout)
            return .success(String(decoding: bytes, as: UTF8.self))
        } catch {
            return .failure(error)
        }
    }

    @Test @LoopActor func `gives what a program writes, and not what it complains of`() async {
        #expect(await outcome("echo \"$1\"; echo no >&2") == .success("a  b\n"))
        #expect(await outcome("cat; echo end") == .success("end\n"))
        #expect(await outcome(":") == .success(""))
    }

    @Test @LoopActor func `tells how it ended otherwise`() async {
        #expect(await outcome("echo x; exit 3") == .failure(.ended(.exited(status: 3))))
        #expect(await outcome("kill -9 $$") == .failure(.ended(.killed(signal: 9))))
        await #expect(throws: ChildProcess.OutputError.notStarted(SystemError(code: 2))) {
            _ = try await ChildProcess.output(of: ["/nowhere/broker"], limit: 1, timeout: .seconds(1))
        }
    }

    @Test @LoopActor func `ends one that writes too much or takes too long, with its children`() async {
        #expect(await outcome("while :; do echo 0123456789; done") == .failure(.tooMuch))
        let start = ContinuousClock.now
        #expect(await outcome("sleep 60 | sleep 60", timeout: .milliseconds(50)) == .failure(.timeout))
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test @LoopActor func `a program gets no descriptor of this process, however that was opened`() async throws {
        // Without close-on-exec, as a worker has those that its supervisor gave it.
        let inherited = fcntl(STDIN_FILENO, F_DUPFD, 50)
        try #require(inherited >= 50)
        defer { close(inherited) }
        #expect(await outcome("[ -e /proc/self/fd/\(inherited) ] && echo open; echo end") == .success("end\n"))
    }

    @Test @LoopActor func `a closed output is not the end of a program`() async {
        #expect(await outcome("exec >&-; sleep 0.05; exit 4") == .failure(.ended(.exited(status: 4))))
    }

    @Test @LoopActor func `waits in the end for one that it has killed`() async throws {
        let folder = try TemporaryFolder()
        let script = "echo $$ > '\(folder["id"])'; while :; do echo 0123456789; done"
        #expect(await outcome(script) == .failure(.tooMuch))
        let text = try String(contentsOfFile: folder["id"], encoding: .utf8)
        let child = try #require(Int32(text.dropLast()))
        // A process that nobody has waited for still has its id. The failure was told before that: the loop never waits.
        #expect(kill(child, 0) == 0)
        while kill(child, 0) == 0 { try await LoopActor.sleep(for: .milliseconds(1)) }
    }
}
