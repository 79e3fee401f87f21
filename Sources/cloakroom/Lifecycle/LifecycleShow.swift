import CloakroomAWS
import CloakroomOperations
import CloakroomServer
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom lifecycle show`
enum LifecycleShow: Command {
    static let syntax = CommandSyntax(
        "lifecycle show", "the bucket's rules, and what becomes of an object", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let terms = LifecycleTerms(line.settings)
        let bucket = line.settings.bucket
        let asJSON = options.flags.contains("json")
        return line.withUpstreams { upstreams in
            let found = try await BucketLifecycle(upstreams.s3)
            let story = LifecycleDescription.story(
                found.configuration, found.versioning, terms, now: Timestamp(Date()))
            return Output.print(asJSON ? json(bucket, found, story) : text(bucket, found, story))
        }
    }

    private static func text(_ bucket: String, _ found: BucketLifecycle, _ story: [String]) -> String {
        var lines = ["Bucket \(bucket), versioning: \(found.versioning.word)"]
        let rules = found.configuration.rules
        lines.append(rules.isEmpty ? "No lifecycle rules." : "Rules:")
        lines += rules.map { "  " + LifecycleDescription.rule($0) }
        return (lines + [""] + story).joined(separator: "\n")
    }

    private static func json(_ bucket: String, _ found: BucketLifecycle, _ story: [String]) -> String {
        let rules = found.configuration.rules.map { rule -> JSON in
            let expiration: JSON = rule.expirationDays.map { .number(Double($0)) } ?? .null
            return [
                "id": .string(rule.id), "enabled": .bool(rule.isEnabled),
                "objects": .string(LifecycleDescription.objects(rule.filter)), "expirationDays": expiration,
                "text": .string(LifecycleDescription.rule(rule)),
            ]
        }
        let json: JSON = [
            "bucket": .string(bucket), "versioning": .string(found.versioning.word), "rules": .array(rules),
            "story": .array(story.map(JSON.string)),
        ]
        return json.text
    }

    static let help = """
        Usage: cloakroom lifecycle show [--json] SETTINGS

        Prints the bucket's lifecycle rules, and in plain words what becomes of an object. Nothing is changed.

        Options:
          --json  one JSON object, for programs

        Exit status: 0 printed, 1 the bucket could not be asked, 2 the command line was not understood.

        Examples:
          cloakroom lifecycle show cloakroom.json5
          cloakroom lifecycle show --json cloakroom.json5 | jq -r '.story[]'
        """
}
