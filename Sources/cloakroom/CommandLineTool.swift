/// How the process ends, for shells and for systemd.
enum ExitStatus: Int32 {
    case success = 0
    case failure = 1
    /// The command line was not understood.
    case usage = 2
    /// What was begun needs another run.
    case unfinished = 3
}

/// Finds the command; each has a file of its own.
enum CommandLineTool {
    static let version = "0.1.0"

    static func run(_ arguments: [String]) -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch rest.first {
        case "init": return InitCommand.run(Array(rest.dropFirst()))
        case "settings": return SettingsCommand.run(Array(rest.dropFirst()))
        case "serve": return ServeCommand.run(Array(rest.dropFirst()))
        case "status": return StatusCommand.run(Array(rest.dropFirst()))
        case "check": return CheckCommand.run(Array(rest.dropFirst()))
        case "lifecycle": return LifecycleCommand.run(Array(rest.dropFirst()))
        case "doctor": return DoctorCommand.run(Array(rest.dropFirst()))
        case "audit": return AuditCommand.run(Array(rest.dropFirst()))
        case "renew": return RenewCommand.run(Array(rest.dropFirst()))
        case "policy": return PolicyCommand.run(Array(rest.dropFirst()))
        case "token": return TokenCommand.run(Array(rest.dropFirst()))
        case "user": return UserCommand.run(Array(rest.dropFirst()))
        case "usage": return UsageCommand.run(Array(rest.dropFirst()))
        case "completions": return CompletionsCommand.run(Array(rest.dropFirst()))
        case "--version": return Output.print("cloakroom \(version)")
        case "--help", "-h", "help": return Output.print(help)
        case nil: return Output.usage("a command is missing", see: "cloakroom --help")
        case .some(let other): return Output.usage("there is no command \(other)", see: "cloakroom --help")
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
