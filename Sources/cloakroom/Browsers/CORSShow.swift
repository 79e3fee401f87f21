import CloakroomAWS
import CloakroomJSON
import CloakroomOperations
import CloakroomServer

/// What the commands about the bucket's rule for web pages share.
enum CORSCommands {
    /// For a refusal.
    static let permissions = "it takes s3:GetBucketCORS, and to apply s3:PutBucketCORS"
}

/// `cloakroom cors show`
enum CORSShow: Command {
    static let syntax = CommandSyntax("cors show", "the bucket's rules for web pages", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let bucket = line.settings.bucket
        let asJSON = options.flags.contains("json")
        return line.withUpstreams(permissions: CORSCommands.permissions) { upstreams in
            let found = try await upstreams.s3.cors(deadline: .now + SettingsCommandLine.requestDeadline)
            return Output.print(asJSON ? json(bucket, found) : text(bucket, found))
        }
    }

    private static func text(_ bucket: String, _ found: CORSConfiguration) -> String {
        let head = "Bucket \(bucket)"
        guard !found.rules.isEmpty else { return "\(head)\nNo rules: web pages can neither upload nor read." }
        let rules = found.rules.map { "  \($0.words)" }
        return ([head, "Rules, of which the first that is for a request counts:"] + rules).joined(separator: "\n")
    }

    private static func json(_ bucket: String, _ found: CORSConfiguration) -> String {
        func strings(_ texts: [String]) -> JSON { .array(texts.map(JSON.string)) }
        let rules = found.rules.map { rule -> JSON in
            [
                "id": .string(rule.id), "origins": strings(rule.origins), "methods": strings(rule.methods),
                "headers": strings(rule.headers), "exposed": strings(rule.exposed),
                "maximumAgeSeconds": rule.maximumAge.map { JSON.number(Double($0)) } ?? .null,
            ]
        }
        let json: JSON = ["bucket": .string(bucket), "rules": .array(rules)]
        return json.text
    }

    static let help = """
        Usage: cloakroom cors show [--json] SETTINGS

        Prints the bucket's rules for web pages (CORS). Nothing is changed.

        Options:
          --json  one JSON object, for programs

        Exit status: 0 printed, 1 the bucket could not be asked, 2 the command line was not understood.

        Examples:
          cloakroom cors show cloakroom.json5
          cloakroom cors show --json cloakroom.json5 | jq '.rules[].origins'
        """
}
