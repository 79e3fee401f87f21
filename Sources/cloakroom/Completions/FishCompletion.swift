/// The completions for fish: a line for each command, option and operand.
enum FishCompletion {
    static var script: String {
        let top = CommandTable.entries.map { line(at: "", "-a \($0.name) -d \(quoted($0.summary))") }
        let second = CommandTable.entries.flatMap { entry in
            entry.subcommands.map { line(at: entry.name, "-a \($0.words[1]) -d \(quoted($0.summary))") }
        }
        return """
            # fish completion of cloakroom, made by: cloakroom completions fish

            # Whether these words and no others stand before the cursor.
            function __cloakroom_is
                set -l words (commandline -opc)
                test "$words[2..]" = "$argv"
            end

            # Whether the line begins with these words.
            function __cloakroom_begins
                set -l words (commandline -opc)
                set -l last (math 1 + (count $argv))
                test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
            end

            complete -c cloakroom -f
            \(line(at: "", "-l help"))
            \(line(at: "", "-l version"))
            \((top + second + CommandTable.syntaxes.flatMap(lines)).joined(separator: "\n"))
            """
    }

    private static func line(at words: String, _ rest: String) -> String {
        "complete -c cloakroom -n \(quoted("__cloakroom_is \(words)")) \(rest)"
    }

    private static func lines(_ command: CommandSyntax) -> [String] {
        let start = "complete -c cloakroom -n \(quoted("__cloakroom_begins \(command.name)"))"
        let options = command.options.map { option in
            "\(start) -l \(option.name)" + (option.value.map { " -r" + value($0) } ?? "")
        }
        return options
            + command.operands.compactMap { operand in
                if case .text = operand { nil } else { start + value(operand) }
            }
    }

    private static func value(_ value: CommandSyntax.Value) -> String {
        switch value {
        case .text: " -f"
        case .file: " -F"
        case .folder: " -f -a '(__fish_complete_directories)'"
        case .choice(let names): " -f -a \(quoted(names().joined(separator: " ")))"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: #"\\"#).replacing("'", with: #"\'"#) + "'"
    }
}
