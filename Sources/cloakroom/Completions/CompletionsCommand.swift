/// `cloakroom completions`
enum CompletionsCommand {
    private static let shells: [(name: String, script: @Sendable () -> String)] = [
        ("bash", { BashCompletion.script }), ("zsh", { ZshCompletion.script }), ("fish", { FishCompletion.script }),
        ("commands", { CommandTable.commands.map(\.name).joined(separator: "\n") }),
    ]

    static let words = shells.map(\.name)

    static func run(_ arguments: [String]) -> ExitStatus {
        let see = "cloakroom completions --help"
        let options: Options
        do { options = try Options(arguments, of: .completions) } catch { return Output.usage("\(error)", see: see) }
        if options.wantsHelp { return Output.print(help) }
        guard options.operands.count == 1, let shell = shells.first(where: { $0.name == options.operands[0] }) else {
            return Output.usage("completions takes one of \(words.joined(separator: ", "))", see: see)
        }
        return Output.print(shell.script())
    }

    private static let help = """
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
