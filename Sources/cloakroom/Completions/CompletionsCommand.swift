/// `cloakroom completions`
enum CompletionsCommand: Command {
    private static let shells: [(name: String, script: @Sendable () -> String)] = [
        ("bash", { BashCompletion.script }), ("zsh", { ZshCompletion.script }), ("fish", { FishCompletion.script }),
        ("commands", { CommandTable.syntaxes.map(\.name).joined(separator: "\n") }),
    ]

    private static let words = shells.map(\.name)

    static let syntax = CommandSyntax(
        "completions", "completions for bash, zsh or fish", operands: [.choice({ words })])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        guard options.operands.count == 1, let shell = shells.first(where: { $0.name == options.operands[0] }) else {
            throw .usage("completions takes one of \(words.joined(separator: ", "))")
        }
        return Output.print(shell.script())
    }

    static let help = """
        Usage: cloakroom completions bash|zsh|fish
               cloakroom completions commands

        Prints a script with which a shell completes commands, options, files and
        keys of the settings.

          bash  ~/.local/share/bash-completion/completions/cloakroom, or for all
                users /usr/share/bash-completion/completions/cloakroom
          zsh   _cloakroom in a folder of $fpath
          fish  ~/.config/fish/completions/cloakroom.fish

        With \"commands\", prints all commands, one a line, for scripts.

        Exit status: 0 printed, 2 the command line was not understood.

        Examples:
          source <(cloakroom completions bash)
          cloakroom completions zsh > /usr/local/share/zsh/site-functions/_cloakroom
          cloakroom completions fish > ~/.config/fish/completions/cloakroom.fish
        """
}

extension String {
    /// For bash and zsh.
    var shellQuoted: String { "'" + replacing("'", with: #"'\''"#) + "'" }
}
