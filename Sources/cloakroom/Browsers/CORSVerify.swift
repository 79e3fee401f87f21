import CloakroomAWS
import CloakroomJSON
import CloakroomOperations
import CloakroomServer

/// `cloakroom cors verify`
enum CORSVerify: Command {
    static let syntax = CommandSyntax(
        "cors verify", "say what is wrong with the bucket's rules for web pages", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let settings = line.settings
        let asJSON = options.flags.contains("json")
        return line.withUpstreams(permissions: CORSCommands.permissions) { upstreams in
            let found = try await upstreams.s3.cors(deadline: .now + SettingsCommandLine.requestDeadline)
            let review = CORSReview(found, settings.web)
            let printed = Output.print(asJSON ? json(settings.bucket, review) : text(settings, review))
            return review.isGood ? printed : .failure
        }
    }

    private static func text(_ settings: Settings, _ review: CORSReview) -> String {
        var lines = review.findings.flatMap { ["\($0.severity.rawValue): \($0.text)", "    \($0.advice)"] }
        if review.isGood {
            let pages =
                settings.web.origins.isEmpty
                ? "web.origins is empty" : "pages of web.origins can upload and read"
            lines.append("\(settings.bucket): good; \(pages)")
        }
        return lines.joined(separator: "\n")
    }

    private static func json(_ bucket: String, _ review: CORSReview) -> String {
        let findings = review.findings.map { finding -> JSON in
            [
                "severity": .string(finding.severity.rawValue), "code": .string(finding.code.rawValue),
                "text": .string(finding.text), "advice": .string(finding.advice),
            ]
        }
        let json: JSON = [
            "bucket": .string(bucket), "good": .bool(review.isGood), "findings": .array(findings),
        ]
        return json.text
    }

    static let help = """
        Usage: cloakroom cors verify [--json] SETTINGS

        Holds the bucket's rules for web pages (CORS) against web.origins, by the rule that S3 takes for each: methods and
        header fields that a page may not send, fields such as ETag that it cannot read, and origins that an earlier
        rule of cloakroom cors apply still has. Nothing is changed.

        Options:
          --json  one JSON object, for programs

        Exit status: 0 good, perhaps with warnings; 1 a page cannot upload or read, or the bucket could not be asked; 2
        the command line was not understood.

        Examples:
          cloakroom cors verify cloakroom.json5
          cloakroom cors verify --json cloakroom.json5 | jq -r '.findings[].code'
        """
}
