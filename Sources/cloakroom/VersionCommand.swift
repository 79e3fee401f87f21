import CloakroomCurl
import CloakroomJSON

/// `cloakroom version`
enum VersionCommand: Command {
    static let syntax = CommandSyntax(
        "version", "the version, and those of the libraries it loaded", flags: ["json"], operands: [])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        guard options.operands.isEmpty else { throw .usage("version takes no operands") }
        let libraries = libraries(in: CurlVersion.text)
        guard options.flags.contains("json") else {
            let lines = [("cloakroom", CommandLineTool.version)] + libraries
            return Output.print(lines.map { "\($0.0) \($0.1)" }.joined(separator: "\n"))
        }
        let json: JSON = [
            "name": .string("cloakroom"), "version": .string(CommandLineTool.version),
            "architecture": .string(architecture),
            "libraries": .object(.init(members: libraries.map { .init(name: $0.name, value: .string($0.version)) })),
        ]
        return Output.print(json.text)
    }

    /// - Parameter text: as libcurl gives it: `libcurl/7.88.1 libpsl/0.21.2 (+libidn2/2.3.3)`.
    static func libraries(in text: String) -> [(name: String, version: String)] {
        text.split(separator: " ").compactMap { word in
            let parts = word.filter { !"(+)".contains($0) }.split(separator: "/", maxSplits: 1)
            return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
        }
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "aarch64"
        #else
            "unknown"
        #endif
    }

    static let help = """
        Usage: cloakroom version [--json]

        Prints the version of cloakroom, and those of libcurl and of the libraries
        that it uses, as they were loaded, one a line.

        Options:
          --json  one JSON object, for programs: name, version, architecture,
                  libraries

        Exit status: 0 printed, 2 the command line was not understood.

        Examples:
          cloakroom version
          cloakroom version --json | jq -r .libraries.OpenSSL
        """
}
