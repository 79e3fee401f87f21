import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom lifecycle suspend`
enum LifecycleSuspend: Command {
    static let syntax = CommandSyntax(
        "lifecycle suspend", "disable the rules that delete assets, until apply", flags: ["dry-run", "yes"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let (settings, file, flags) = (line.settings, line.file, options.flags)
        return line.withUpstreams { upstreams in try await suspend(upstreams.s3, settings, file, flags) }
    }

    @LoopActor
    private static func suspend(
        _ s3: S3Client, _ settings: Settings, _ file: String, _ flags: Set<String>
    ) async throws(AWSError) -> ExitStatus {
        let found = try await BucketLifecycle(s3)
        let plan = LifecyclePlan(suspending: found.configuration, found.versioning, LifecycleTerms(settings))
        Output.print("\(settings.bucket), versioning: \(found.versioning.word)")
        plan.lines.forEach { Output.print($0) }
        plan.deleting.forEach { Output.print("goes on: \(LifecycleDescription.rule($0))") }
        guard !plan.changesNothing else {
            return Output.print("no rule of Cloakroom's that deletes assets is enabled: there is nothing to suspend")
        }
        let count = plan.changes.count { if case .added = $0 { true } else { false } }
        Output.print("\(count == 1 ? "1 rule" : "\(count) rules") to suspend")
        if flags.contains("dry-run") { return .success }
        guard flags.contains("yes") || Confirmation.isGiven() else {
            return Output.fail("nothing is changed; answer y, or give --yes")
        }
        try await found.put(plan, s3, done: "suspended")
        return Output.print(
            "cloakroom lifecycle apply \(file) enables them again, and so does the next run of Terraform or"
                + " CloudFormation")
    }

    static let help = """
        Usage: cloakroom lifecycle suspend [--dry-run] [--yes] SETTINGS

        For the time in which assets are lost and the cause is not known: disables Cloakroom's own rules that delete
        assets or their older versions. Nothing else changes: the rules of others stay, and those for images of chats,
        since what users released is to end. What is left that deletes is told. Objects are not counted, which could take
        hours. S3 stops within minutes, also for what it had scheduled.

        `cloakroom lifecycle apply` enables the rules again, and shows what they would delete at once: renew that first
        (cloakroom renew). Terraform and CloudFormation own the rules that they made: their next run enables them, so
        stop these until then. Until then, `lifecycle verify` says that the rules are disabled.

        Options:
          --dry-run  show what would change, and end
          --yes      do not ask

        Exit status: 0 suspended, or there is nothing to suspend, 1 not, 2 the command line was not understood.

        Examples:
          cloakroom lifecycle suspend --dry-run cloakroom.json5
          cloakroom lifecycle suspend --yes cloakroom.json5
        """
}
