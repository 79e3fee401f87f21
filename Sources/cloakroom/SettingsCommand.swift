import CloakroomOperations
import CloakroomServer

/// `cloakroom settings`
enum SettingsCommand: Command {
    static let syntax = CommandSyntax(
        "settings", "the keys of the settings file: type, default, meaning", flags: ["man"],
        operands: [.choice({ SettingsManual.keys })])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let isPage = options.flags.contains("man")
        guard options.operands.count <= (isPage ? 0 : 1) else {
            throw .usage("settings takes one key, or --man")
        }
        if isPage { return Output.print(SettingsManual.page(version: CommandLineTool.version)) }
        do throws(SettingsManual.UnknownKeyError) {
            return Output.print(try SettingsManual.text(of: options.operands.first))
        } catch {
            throw .usage("\(error)")
        }
    }

    static let help = """
        Usage: cloakroom settings [KEY]
               cloakroom settings --man

        Prints keys of the settings file, cloakroom.json5: the type of each, its
        default and what it means. KEY is a key, or what several begin with, up to
        a dot; without it, all keys are printed.

        In a key, brackets stand for each element of an array and may be left out,
        and NAME for a name of your own.

        Options:
          --man  print the manual page cloakroom.json5(5) instead, for man

        Exit status: 0 printed, 2 there is no such key, or the command line was not
        understood.

        Examples:
          cloakroom settings limits.renew.requests
          cloakroom settings limits
          cloakroom settings tokens.issuers.audiences
          cloakroom settings | less
          cloakroom settings --man | man -l -
        """
}
