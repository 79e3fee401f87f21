/// `cloakroom lifecycle …`
enum LifecycleCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "show": return LifecycleShow.run(rest)
        case "apply": return LifecycleApply.run(rest)
        case "verify": return LifecycleVerify.run(rest)
        case "--help", "-h": return Output.print(help)
        case nil, .some:
            return Output.usage(
                "lifecycle has the commands show, apply and verify", see: "cloakroom lifecycle --help")
        }
    }

    private static let help = """
        Usage: cloakroom lifecycle show|apply|verify …

        The rule of the bucket that lets objects expire which nobody renews.

        Commands:
          show    the bucket's rules, and what becomes of an object
          apply   put the rule that the settings ask for, after showing what that changes
          verify  say what is wrong with the bucket's rules

        Examples:
          cloakroom lifecycle show cloakroom.json5
          cloakroom lifecycle apply --dry-run cloakroom.json5
          cloakroom lifecycle verify --json cloakroom.json5
        """
}
