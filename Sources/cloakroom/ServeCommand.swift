import CloakroomCLinux
import CloakroomFastCGI
import CloakroomLoop
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom serve`
enum ServeCommand: Command {
    static let syntax = CommandSyntax(
        "serve", "serve FastCGI requests from nginx",
        values: ["workers": .text, "listen": .text, "lifeline": .text, "heartbeat": .text, "resume": .text],
        hidden: ["lifeline", "heartbeat", "resume"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let file = try options.settingsFile()
        guard let listen = options.values["listen"] else {
            throw .usage("serve takes --listen unix:PATH or HOST:PORT")
        }
        if let fault = ClockError(now: Date()) { throw .failure("cannot serve: \(fault)") }
        guard let workers = options.values["workers"] else { return try one(listen, file, options) }
        var files = SettingsFiles()
        let settings = try SettingsFile.require(file, from: &files)
        let line: SupervisorCommandLine
        do throws(ListenPattern.PatternError) {
            let pattern = try ListenPattern(listen, workers: ListenPattern.count(workers))
            line = SupervisorCommandLine(listen: pattern, settingsFile: file)
        } catch {
            throw .usage("\(error)")
        }
        return try many(line, settings, files, resume: options.values["resume"])
    }

    private static func one(
        _ listen: String, _ file: String, _ options: Options
    ) throws(EarlyExit) -> ExitStatus {
        let supervisor = Worker.SupervisorLink(
            lifeline: options.values["lifeline"].flatMap { Int32($0) },
            heartbeat: options.values["heartbeat"].flatMap { Int32($0) })
        var files = supervisor.settingsFiles(file)
        let settings = try SettingsFile.require(file, from: &files)
        guard let address = ListenAddress(listen) else {
            throw .usage("\(ListenPattern.PatternError.notAnAddress(listen))")
        }
        return Worker.run(listen: address, settings: settings, supervisor: supervisor)
    }

    private static func many(
        _ line: SupervisorCommandLine, _ settings: Settings, _ files: SettingsFiles, resume: String?
    ) throws(EarlyExit) -> ExitStatus {
        let count = line.listen.addresses.count
        switch resume {
        case nil: return Supervisor.run(line, settings, files.memory, resuming: nil)
        // The supervisor before this one asks whether this program could go on in its place.
        case SupervisorCommandLine.trial:
            // No descriptor may have been opened before: it could be this one, where that is missing.
            let descriptor = SupervisorCommandLine.trialDescriptor
            guard SupervisorState.isMissing(descriptor) || SupervisorState(adopting: descriptor, slots: count) != nil
            else {
                throw .failure(
                    "cannot read the state of the supervisor that runs: this version keeps it otherwise; restart it")
            }
            return .success
        case .some(let number):
            guard let descriptor = Int32(number), descriptor > 2,
                let state = SupervisorState(adopting: descriptor, slots: count)
            else { throw .usage("--resume is for the supervisor's own use") }
            return Supervisor.run(line, settings, files.memory, resuming: state)
        }
    }

    static let help = """
        Usage: cloakroom serve --listen ADDRESS [--workers N] SETTINGS

        Answers FastCGI requests from nginx. Without --workers one worker runs: one thread, one listening socket. With it,
        a supervisor keeps N of them running.

        Options:
          --listen ADDRESS  unix:PATH or HOST:PORT; with --workers, %d in it is the number of the worker, from 1
          --workers N       1 to 256; one a core is the rule

        Signals to the supervisor:
          SIGHUP   replaces the workers one by one, without losing a request; they read the settings anew
          SIGUSR2  runs the program anew that lies at the supervisor's path, in the same process, without losing a
                   request: after an upgrade and SIGHUP the workers run the new program, the supervisor the former one.
                   A reload that failed before is done once more
          SIGTERM  answers what was taken, then exits with 0; SIGINT and SIGQUIT do the same

        Signals to a worker: SIGTERM, SIGINT, SIGQUIT as above.

        Exit status: 0 stopped as told, 1 failed, 2 the command line was not understood.

        Examples:
          cloakroom serve --listen unix:/run/cloakroom/worker.sock cloakroom.json5
          cloakroom serve --workers 4 --listen 'unix:/run/cloakroom/worker-%d.sock' cloakroom.json5
        """
}
