import CloakroomAWS
import CloakroomOperations
import CloakroomServer
import CloakroomJSON

/// `cloakroom lifecycle verify`
enum LifecycleVerify: Command {
    static let syntax = CommandSyntax(
        "lifecycle verify", "say what is wrong with the bucket's rules", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let terms = LifecycleTerms(line.settings)
        let bucket = line.settings.bucket
        let asJSON = options.flags.contains("json")
        return line.withUpstreams { upstreams in
            let found = try await BucketLifecycle(upstreams.s3)
            let review = LifecycleReview(found.configuration, found.versioning, terms)
            let printed = Output.print(asJSON ? json(bucket, review) : text(bucket, review, terms))
            return review.isGood ? printed : .failure
        }
    }

    private static func text(_ bucket: String, _ review: LifecycleReview, _ terms: LifecycleTerms) -> String {
        var lines = review.findings.flatMap { Self.lines($0) }
        if review.isGood {
            lines.append("\(bucket): good; \(terms.promise), as promised")
        }
        lines += review.tiered.map { [$0.confirmation, $0.versions].compactMap(\.self) } ?? []
        return lines.joined(separator: "\n")
    }

    static func lines(_ finding: LifecycleFinding) -> [String] {
        ["\(finding.severity.rawValue): \(finding.text)", "    \(finding.advice)"]
    }

    private static func json(_ bucket: String, _ review: LifecycleReview) -> String {
        let findings = review.findings.map { finding -> JSON in
            [
                "severity": .string(finding.severity.rawValue), "code": .string(finding.code.rawValue),
                "rule": finding.rule.map(JSON.string) ?? .null, "text": .string(finding.text),
                "advice": .string(finding.advice),
            ]
        }
        let json: JSON = [
            "bucket": .string(bucket), "good": .bool(review.isGood), "findings": .array(findings),
            "tieredPhotos": review.tiered.map(Self.json) ?? .null,
        ]
        return json.text
    }

    private static func json(_ tiered: TieredReview) -> JSON {
        [
            "folders": .array(tiered.parents.map(JSON.string)), "rules": .array(tiered.rules.map(JSON.string)),
            "versioning": .string(tiered.versioning.word),
        ]
    }

    static let help = """
        Usage: cloakroom lifecycle verify [--json] SETTINGS

        Holds the bucket's lifecycle rules against the settings, and says what is wrong in plain words: rules for some of
        the objects only, several that overlap, days other than renewal.retentionDays, which workers promise as
        expiresAt (null: any rule that deletes assets), moves to other storage classes, old versions or parts of uploads that stay for ever, disabled rules; and every
        rule, not only ours, that can match objects in users' folders. Where users have catalogs/ beside photos/ and
        thumbnails/, as tiered photo storage needs, it confirms that no rule deletes or archives these, and says whether
        versions are kept. Nothing is changed.

        Options:
          --json  one JSON object, for programs

        Exit status: 0 good, perhaps with warnings; 1 a promise is broken, or the bucket could not be asked; 2 the
        command line was not understood.

        Examples:
          cloakroom lifecycle verify cloakroom.json5
          cloakroom lifecycle verify --json cloakroom.json5 | jq -r '.findings[].code'
        """
}
