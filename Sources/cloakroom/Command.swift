/// One command: what its line may hold, what its `--help` prints, and what it does.
///
/// To add one: a type of its own, and a place in ``CommandTable/commands``.
protocol Command: SendableMetatype {
    static var syntax: CommandSyntax { get }
    static var help: String { get }
    /// Of the command whose `--help` prints ``help``: its own, unless the help is that of a group.
    static var helpName: String { get }

    /// - Parameter options: read by the syntax.
    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus
}

extension Command {
    static var helpName: String { syntax.name }
}

/// Why a command ends before it has done anything.
enum EarlyExit: Error {
    /// The command line was not understood. Where the command's help is, is added.
    case usage(String)
    case failure(String)
}
