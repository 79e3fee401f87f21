/// `cloakroom usage …`
enum UsageCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        switch arguments.first {
        case "scan": UsageScanCommand.run(Array(arguments.dropFirst()))
        case "--help", "-h": Output.print(UsageScanCommand.help)
        case nil, .some: Output.usage("usage has one command, scan", see: "cloakroom usage scan --help")
        }
    }
}
