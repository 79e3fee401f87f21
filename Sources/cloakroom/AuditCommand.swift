/// `cloakroom audit …`
enum AuditCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        switch arguments.first {
        case "verify": AuditVerify.run(Array(arguments.dropFirst()))
        case "--help", "-h": Output.print(AuditVerify.help)
        case nil, .some: Output.usage("audit has one command, verify", see: "cloakroom audit verify --help")
        }
    }
}
