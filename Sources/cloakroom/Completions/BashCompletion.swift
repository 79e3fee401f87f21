/// The completions for bash, as a function of its own: bash-completion is not needed.
enum BashCompletion {
    static var script: String {
        let groups = CommandTable.entries.filter { !$0.subcommands.isEmpty }
        return """
            # bash completion of cloakroom, made by: cloakroom completions bash

            # COMMAND WORD: sets kind to what WORD takes, an option or the number of an operand; empty where nothing.
            _cloakroom_kind() {
                case $1:$2 in
            \(CommandTable.syntaxes.flatMap(lines).joined(separator: "\n"))
                    *) kind='' ;;
                esac
            }

            \(offer)

            _cloakroom() {
                local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} index=2 number=1 ended='' kind word
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    _cloakroom_offer 'words \(words(CommandTable.entries.map(\.name) + ["--help", "--version"]))' "$current"
                    return
                fi
                case $command in
                    \(groups.map(\.name).joined(separator: " | ")))
                        if ((COMP_CWORD == 2)); then
                            _cloakroom_kind "$command" commands
                            _cloakroom_offer "$kind" "$current"
                            return
                        fi
                        command+=" ${COMP_WORDS[2]}"
                        index=3
                        ;;
                esac
            \(walk)
            }
            complete -F _cloakroom cloakroom
            """
    }

    private static let offer = """
        # KIND BEGINNING: offers what begins so.
        _cloakroom_offer() {
            case $1 in
                file) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
                folder) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
                'words '*) mapfile -t COMPREPLY < <(compgen -W "${1#words }" -- "$2") ;;
            esac
            # Outside of a completion, as in a test, there is no compopt.
            case $1 in
                file | folder) compopt -o filenames 2>/dev/null ;;
            esac
        }
        """

    /// The words before the cursor, one after the other: what the word at the cursor is.
    private static let walk = """
            for ((; index < COMP_CWORD; index++)); do
                word=${COMP_WORDS[index]}
                if [[ -n $ended || $word != -* ]]; then
                    ((number++))
                    continue
                fi
                [[ $word != -- ]] || ended=yes
                _cloakroom_kind "$command" "$word"
                [[ -n $kind ]] || continue
                # The value; bash makes words of their own of "=" and ":".
                ((++index))
                if [[ ${COMP_WORDS[index]} == = ]]; then
                    if ((index == COMP_CWORD)); then current=''; else ((++index)); fi
                fi
                while ((index < COMP_CWORD)) && [[ ${COMP_WORDS[index + 1]} == : ]]; do ((index += 2)); done
                if ((index >= COMP_CWORD)); then
                    _cloakroom_offer "$kind" "$current"
                    return
                fi
            done
            if [[ -z $ended && $current == -* ]]; then number=options; fi
            _cloakroom_kind "$command" "$number"
            _cloakroom_offer "$kind" "$current"
        """

    private static func words(_ words: [String]) -> String { words.joined(separator: " ") }

    /// The cases of one command; before its group's first, those of the group.
    private static func lines(_ command: CommandSyntax) -> [String] {
        var cases: [(pattern: String, kind: String)] = []
        if let group = CommandTable.entries.first(where: { $0.subcommands.first?.name == command.name }) {
            cases.append(
                (group.name + ":commands", "words " + words(group.subcommands.map { $0.words[1] } + ["--help"])))
        }
        let options = command.options
        cases.append(("\(command.name):options", "words " + words(options.map { "--\($0.name)" })))
        cases += options.compactMap { option in
            option.value.map { ("\(command.name):--\(option.name)", kind($0)) }
        }
        cases += command.operands.enumerated().map { ("\(command.name):\($0.offset + 1)", kind($0.element)) }
        let fixed = cases.map { "        \($0.pattern.shellQuoted)) kind=\($0.kind.shellQuoted) ;;" }
        guard command.repeats, let last = command.operands.last else { return fixed }
        return fixed + ["        \("\(command.name):".shellQuoted)[1-9]*) kind=\(kind(last).shellQuoted) ;;"]
    }

    private static func kind(_ value: CommandSyntax.Value) -> String {
        switch value {
        case .text: "text"
        case .file: "file"
        case .folder: "folder"
        case .choice(let names): "words " + words(names())
        }
    }
}
