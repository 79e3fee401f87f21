/// What the line of one command may hold. ``Options`` reads lines by it, and the completions of shells are made from it.
struct CommandSyntax: Sendable {
    /// What an option or an operand takes, as far as a shell can complete it.
    enum Value: Sendable {
        case text
        case file
        case folder
        case choice(@Sendable () -> [String])
    }

    /// After the program's name.
    let words: [String]
    let summary: String
    /// Options with a value, without their hyphens.
    let values: [String: Value]
    let flags: Set<String>
    /// Of ``values``: for the program's own use, neither in the help nor completed.
    let hidden: Set<String>
    let operands: [Value]
    /// Whether the last operand may be given many times.
    let repeats: Bool

    init(
        _ command: String, _ summary: String, values: [String: Value] = [:], flags: Set<String> = [],
        hidden: Set<String> = [], operands: [Value] = [.file], repeats: Bool = false
    ) {
        words = command.split(separator: " ").map { String($0) }
        self.summary = summary
        self.values = values
        self.flags = flags
        self.hidden = hidden
        self.operands = operands
        self.repeats = repeats
    }

    var name: String { words.joined(separator: " ") }

    /// Of the options that are completed, in order; `--help` is one of them.
    var options: [(name: String, value: Value?)] {
        let valued = values.filter { !hidden.contains($0.key) }
        let names = Array(valued.keys) + flags + ["help"]
        return names.sorted().map { (name: $0, value: valued[$0]) }
    }
}
