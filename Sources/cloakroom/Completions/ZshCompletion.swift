/// The completions for zsh, with its _arguments and _describe.
enum ZshCompletion {
    static var script: String {
        let groups = CommandTable.entries.filter { !$0.subcommands.isEmpty }
        return """
            #compdef cloakroom
            # zsh completion of cloakroom, made by: cloakroom completions zsh

            _cloakroom() {
                local command=${words[2]}
                local -a names
                if (( CURRENT == 2 )); then
                    names=(
            \(described(CommandTable.entries.map { ($0.name, $0.summary) }))
                    )
                    _describe command names
                    return
                fi
                case $command in
            \(groups.map(group).joined(separator: "\n"))
                esac
                shift words
                (( CURRENT-- ))
                case $command in
            \(CommandTable.syntaxes.map(arguments).joined(separator: "\n"))
                esac
            }

            if [[ ${funcstack[1]} == _cloakroom ]]; then
                _cloakroom "$@"
            else
                compdef _cloakroom cloakroom
            fi
            """
    }

    private static func described(_ names: [(name: String, summary: String)]) -> String {
        names.map { "            " + "\($0.name):\($0.summary)".shellQuoted }.joined(separator: "\n")
    }

    private static func group(_ entry: CommandTable.Entry) -> String {
        """
                (\(entry.name))
                    if (( CURRENT == 3 )); then
                        names=(
        \(described(entry.subcommands.map { ($0.words[1], $0.summary) }))
                        )
                        _describe command names
                        return
                    fi
                    command+=" ${words[3]}"
                    shift words
                    (( CURRENT-- ))
                    ;;
        """
    }

    private static func arguments(_ command: CommandSyntax) -> String {
        let options = command.options.map { option in
            option.value.map { "--\(option.name)=:\(option.name):\(action($0))" } ?? "--\(option.name)"
        }
        let operands = command.operands.enumerated().map { index, value in
            let isLast = index == command.operands.count - 1
            return "\(command.repeats && isLast ? "*" : "\(index + 1)"):operand:\(action(value))"
        }
        return "        (\(command.name.shellQuoted)) _arguments "
            + (options + operands).map(\.shellQuoted).joined(separator: " ") + " ;;"
    }

    private static func action(_ value: CommandSyntax.Value) -> String {
        switch value {
        case .text: " "
        case .file: "_files"
        case .folder: "_files -/"
        case .choice(let names): "(\(names().joined(separator: " ")))"
        }
    }
}
