/// `cloakroom token …`
enum TokenCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        switch arguments.first {
        case "mint": TokenMint.run(Array(arguments.dropFirst()))
        case "--help", "-h": Output.print(TokenMint.help)
        case nil, .some: Output.usage("token has one command, mint", see: "cloakroom token mint --help")
        }
    }
}
