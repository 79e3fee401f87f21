import CloakroomOperations

/// All commands, in the order of the help.
enum CommandTable {
    static let commands: [any Command.Type] = [
        InitCommand.self, SettingsCommand.self, ServeCommand.self, StatusCommand.self, CheckCommand.self,
        DoctorCommand.self, LoadCommand.self, AuditVerify.self, EventsStatus.self, EventsDead.self, LifecycleShow.self,
        LifecycleApply.self, LifecycleSuspend.self,
        LifecycleVerify.self,
        LifecyclePlanPrefixes.self, LifecycleValidate.self, LifecycleCanary.self, CORSShow.self,
        CORSApply.self, CORSVerify.self, NginxCORS.self, PolicyShow.self, PolicyTest.self,
        RenewCommand.self, TokenMint.self, UsageScanCommand.self, UserSet.self, UserGet.self, UserDisable.self,
        UserEnable.self, UserDelete.self, UserList.self, UserRevoke.self, UserShare.self, UserUnshare.self,
        UserShares.self, CompletionsCommand.self, VersionCommand.self,
    ]

    static var syntaxes: [CommandSyntax] { commands.map { $0.syntax } }

    /// What begins with one word: a command, or several.
    struct Entry {
        let name: String
        let commands: [any Command.Type]

        /// Their second words are the names; empty where the word itself is the command.
        var subcommands: [CommandSyntax] {
            commands.map { $0.syntax }.filter { $0.words.count > 1 }
        }
        var summary: String { groups[name]?.summary ?? commands[0].syntax.summary }
        /// What `--help` prints after the word: of a group, or of its only command.
        var help: String { groups[name]?.help(subcommands) ?? commands[0].help }
        var helpName: String { groups[name] == nil ? commands[0].helpName : name }

        /// For a line that names none of the subcommands.
        var sentence: String {
            let names = subcommands.map { $0.words[1] }
            let list = names.count > 1 ? "\(names.dropLast().joined(separator: ", ")) and " : ""
            let number = names.count == 1 ? "one command," : names.count == 2 ? "two commands," : "the commands"
            return "\(name) has \(number) \(list)\(names.last ?? "")"
        }
    }

    static let entries: [Entry] = {
        var names: [String] = []
        for syntax in syntaxes where !names.contains(syntax.words[0]) { names.append(syntax.words[0]) }
        return names.map { name in Entry(name: name, commands: commands.filter { $0.syntax.words[0] == name }) }
    }()

    /// What several commands are about.
    private static let groups = [
        "cors": CommandGroup(
            "the bucket's rule for web pages",
            about: "The rule of the bucket that lets web pages upload and read (CORS).",
            examples: [
                "cloakroom cors show cloakroom.json5", "cloakroom cors apply --dry-run cloakroom.json5",
                "cloakroom cors verify --json cloakroom.json5",
            ]),
        "events": CommandGroup(
            "what other programs are told",
            about: "The events of `events.stream`, and those that a webhook did not take.",
            examples: ["cloakroom events status cloakroom.json5", "cloakroom events dead --retry cloakroom.json5"]),
        "lifecycle": CommandGroup(
            "the bucket's rules that let objects expire",
            about: "The rules of the bucket that let objects expire which are not renewed.",
            examples: [
                "cloakroom lifecycle show cloakroom.json5",
                "cloakroom lifecycle apply --dry-run cloakroom.json5",
                "cloakroom lifecycle verify --json cloakroom.json5",
            ]),
        "policy": CommandGroup(
            "what credentials allow", about: "What credentials allow, without asking AWS.",
            examples: [
                "cloakroom policy show --user u_1 cloakroom.json5", "cloakroom policy test cloakroom.json5",
            ]),
        "user": CommandGroup("what a user may do", help: UserHelp.text),
    ]

    /// The commands as the help lists them, in lines of at most 80 characters.
    static var help: String {
        let lines = entries.map { entry in
            let names = entry.subcommands.map { $0.words[1] }
            return names.count == 1
                ? (label: "  \(entry.name) \(names[0])", text: entry.summary)
                : (
                    label: "  \(entry.name)",
                    text: entry.summary + (names.isEmpty ? "" : ": \(names.joined(separator: ", "))")
                )
        }
        let margin = (lines.map(\.label.count).max() ?? 0) + 2
        return lines.flatMap { line in
            line.text.wrapped(
                columns: 80, after: line.label + String(repeating: " ", count: margin - line.label.count))
        }
        .joined(separator: "\n")
    }
}
