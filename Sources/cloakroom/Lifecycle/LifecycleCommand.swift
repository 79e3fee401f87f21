/// `cloakroom lifecycle …`
enum LifecycleCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "show": return LifecycleShow.run(rest)
        case "apply": return LifecycleApply.run(rest)
        case "verify": return LifecycleVerify.run(rest)
        case "validate": return LifecycleValidate.run(rest)
        case "canary": return LifecycleCanary.run(rest)
        case "--help", "-h": return Output.print(help)
        case nil, .some:
            return Output.usage(
                "lifecycle has the commands show, apply, verify, validate and canary", see: "cloakroom lifecycle --help"
            )
        }
    }

    private static let help = """
        Usage: cloakroom lifecycle show|apply|verify|validate|canary …

        The rule of the bucket that lets objects expire which nobody renews.

        Commands:
          show    the bucket's rules, and what becomes of an object
          apply   put the rule that the settings ask for, after showing what that changes
          verify  say what is wrong with the bucket's rules
          validate
                  show on a bucket of its own that a renewal lets an object's life start anew
          canary  show it every day in the bucket itself: for cron, with metrics

        Examples:
          cloakroom lifecycle show cloakroom.json5
          cloakroom lifecycle apply --dry-run cloakroom.json5
          cloakroom lifecycle verify --json cloakroom.json5
        """
}
