import Glibc

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom status`
enum StatusCommand: Command {
    static let syntax = CommandSyntax(
        "status", "the workers of a running supervisor, and whether it runs the program that is installed",
        values: ["listen": .text], operands: [])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        guard options.operands.isEmpty, let listen = options.values["listen"].flatMap({ try? ListenPattern($0) }) else {
            throw .usage("status takes --listen as serve got it")
        }
        let file = SupervisorFolder.statusFile(listen: listen)
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: file)), bytes.count <= 1 << 16 else {
            return Output.fail(
                "no supervisor has told of itself in \(file); is it running, and are you its user, with its TMPDIR?")
        }
        guard let status = SupervisorStatus(Array(bytes)) else {
            return Output.fail("\(file) is of another version; run the cloakroom that the supervisor runs")
        }
        // EPERM: there is such a process, of another user.
        guard kill(status.process, 0) == 0 || errno == EPERM else {
            return Output.fail("the supervisor, process \(status.process), is gone; start cloakroom serve --workers")
        }
        Output.print(text(status))
        return status.isOutdated || status.workers.contains { $0.process == nil } ? .failure : .success
    }

    private static func text(_ status: SupervisorStatus) -> String {
        let supervisor = "supervisor  process \(status.process), \(status.program)"
        let workers = status.workers.map { worker in
            "worker      \(worker.process.map { "process \($0)" } ?? "not up yet"), \(worker.listen)"
        }
        let advice = """
            The supervisor runs the former program; another lies at its path now. To change that without losing a request:
              kill -USR2 \(status.process)
            """
        return ([supervisor] + workers + (status.isOutdated ? [advice] : [])).joined(separator: "\n")
    }

    static let help = """
        Usage: cloakroom status --listen ADDRESS

        Shows the supervisor of `cloakroom serve --workers` and its workers, and whether the supervisor runs the program
        that lies at its path now: after an upgrade and SIGHUP only the workers do. Run it as the supervisor's user; for
        sockets root will do. For ports the supervisor tells of itself in its folder for temporary files: TMPDIR must be
        as for the supervisor, and a systemd unit with PrivateTmp hides it.

        Options:
          --listen ADDRESS  as serve got it, with its %d

        Exit status: 0 all workers are up and the supervisor runs the installed program, 1 otherwise, 2 the command line
        was not understood.

        Examples:
          cloakroom status --listen 'unix:/run/cloakroom/worker-%d.sock'
        """
}
