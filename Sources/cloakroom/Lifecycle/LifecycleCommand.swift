/// `cloakroom lifecycle …`
enum LifecycleCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "show": return LifecycleShow.run(rest)
        case "apply": return LifecycleApply.run(rest)
        case "verify": return LifecycleVerify.run(rest)
        case "validate": return LifecycleValidate.run(rest)
        case "plan-prefixes": return LifecyclePlanPrefixes.run(rest)
        case "canary": return LifecycleCanary.run(rest)
        case "--help", "-h": return Output.print(help)
        case nil, .some:
            return Output.usage(
                "lifecycle has the commands show, apply, verify, plan-prefixes, validate and canary",
                see: "cloakroom lifecycle --help")
        }
    }

    private static let help = """
        Usage: cloakroom lifecycle show|apply|verify|plan-prefixes|validate|canary …

        The rules of the bucket that let objects expire which are not renewed.

        Commands:
          show           the bucket's rules, and what becomes of an object
          apply          put the rules that the settings require, after showing what that changes
          verify         say what is wrong with the bucket's rules
          plan-prefixes  print lifecycle.prefixes that meet no user's folder, for an existing bucket
          validate       show on a bucket of its own that a renewal lets an object's life start anew
          canary         show it every day in the bucket itself: for cron, with metrics

        Examples:
          cloakroom lifecycle show cloakroom.json5
          cloakroom lifecycle apply --dry-run cloakroom.json5
          cloakroom lifecycle verify --json cloakroom.json5
        """
}
