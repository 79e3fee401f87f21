import CloakroomLoop

/// How the process ends, for shells and for systemd.
enum ExitStatus: Int32 {
    case success = 0
    case failure = 1
    /// The command line was not understood.
    case usage = 2
    /// What was begun needs another run.
    case unfinished = 3

    /// Of two parts of one command: what failed counts more than what needs another run.
    func and(_ other: ExitStatus) -> ExitStatus {
        self == .success || other == .failure ? other : self
    }

    /// Runs the loop on the calling thread until the body is done.
    static func onLoop(_ body: @escaping @LoopActor @Sendable () async -> ExitStatus) -> ExitStatus {
        ExitStatus(rawValue: LoopActor.run { await body().rawValue }) ?? .failure
    }
}

/// Finds the command and runs it; each has a file of its own.
enum CommandLineTool {
    static let version = "0.1.0"

    /// What a command line asks for by its first words.
    enum Request {
        case command(any Command.Type, [String])
        case text(String)
        case unknown(String, see: String)
    }

    static func run(_ arguments: [String]) -> ExitStatus {
        switch request(Array(arguments.dropFirst())) {
        case .command(let command, let rest): run(command, rest)
        case .text(let text): Output.print(text)
        case .unknown(let words, let help): Output.usage(words, see: help)
        }
    }

    /// - Parameter words: what stands after the program's name.
    static func request(_ words: [String]) -> Request {
        if let command = CommandTable.commands.first(where: { words.starts(with: $0.syntax.words) }) {
            return .command(command, Array(words.dropFirst(command.syntax.words.count)))
        }
        switch words.first {
        case "--version": return .text("cloakroom \(version)")
        case "--help", "-h", "help": return .text(help)
        case nil: return .unknown("a command is missing", see: "cloakroom --help")
        case .some(let name):
            guard let group = CommandTable.entries.first(where: { $0.name == name }) else {
                return .unknown("there is no command \(name)", see: "cloakroom --help")
            }
            return ["--help", "-h"].contains(words.dropFirst().first)
                ? .text(group.help) : .unknown(group.sentence, see: "cloakroom \(group.helpName) --help")
        }
    }

    private static func run(_ command: any Command.Type, _ arguments: [String]) -> ExitStatus {
        let see = "cloakroom \(command.helpName) --help"
        let options: Options
        do { options = try Options(arguments, of: command.syntax) } catch { return Output.usage("\(error)", see: see) }
        if options.wantsHelp {
            let status = Output.print(command.help)
            // A script that passes on an id such as -h would take it for done.
            return options.operands.isEmpty
                ? status
                : Output.usage(
                    "nothing was done but to show help; what begins with a hyphen and is no option stands behind --",
                    see: see)
        }
        do throws(EarlyExit) { return try command.run(options) } catch {
            switch error {
            case .usage(let text): return Output.usage(text, see: see)
            case .failure(let text): return Output.fail(text)
            }
        }
    }

    private static var help: String {
        """
        Usage: cloakroom COMMAND …

        Hands out short-lived, narrow S3 credentials, and keeps alive what is still used.

        Commands:
        \(CommandTable.help)

        Options:
          --help      this text; after a command, that command's
          --version   the version

        Exit status: 0 done, 1 failed, 2 the command line was not understood.

        Examples:
          cloakroom init --issuer https://auth.example.com /etc/cloakroom
          cloakroom settings limits
          cloakroom check /etc/cloakroom/cloakroom.json5
        """
    }
}
