/// `cloakroom serve`
enum Serve {
    static func run(_ arguments: [String]) -> ExitStatus {
        Output.usage("serve takes [--workers N] [--listen unix:PATH|HOST:PORT] SETTINGS", see: "cloakroom --help")
    }
}
