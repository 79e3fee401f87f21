/// What several commands that begin with one word are about.
struct CommandGroup: Sendable {
    let summary: String
    /// What its `--help` prints.
    let help: @Sendable ([CommandSyntax]) -> String

    init(_ summary: String, help: String) {
        self.summary = summary
        self.help = { _ in help }
    }

    /// - Parameters:
    ///   - about: the paragraph before the list of the commands.
    ///   - examples: one a line.
    init(_ summary: String, about: String, examples: [String]) {
        self.summary = summary
        help = { commands in
            let names = commands.map { $0.words[1] }
            let width = (names.map(\.count).max() ?? 0) + 2
            let list = zip(names, commands).map { name, command in
                "  \(name)\(String(repeating: " ", count: width - name.count))\(command.summary)"
            }
            return """
                Usage: cloakroom \(commands[0].words[0]) \(names.joined(separator: "|")) …

                \(about)

                Commands:
                \(list.joined(separator: "\n"))

                Examples:
                \(examples.map { "  \($0)" }.joined(separator: "\n"))
                """
        }
    }
}
