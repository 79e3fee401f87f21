import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom cors apply`
enum CORSApply: Command {
    static let syntax = CommandSyntax(
        "cors apply", "put the rule for web.origins, after showing what that changes", flags: ["dry-run", "yes"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let settings = line.settings
        let flags = options.flags
        return line.withUpstreams(permissions: CORSCommands.permissions) { upstreams in
            try await apply(upstreams.s3, settings, flags)
        }
    }

    @LoopActor
    private static func apply(
        _ s3: S3Client, _ settings: Settings, _ flags: Set<String>
    ) async throws(AWSError) -> ExitStatus {
        let found = try await s3.cors(deadline: .now + SettingsCommandLine.requestDeadline)
        let plan = CORSPlan(found, settings.web)
        guard !plan.changesNothing else {
            return Output.print(
                settings.web.origins.isEmpty
                    ? "\(settings.bucket): web.origins is empty, and there is no rule for it"
                    : "\(settings.bucket): the rule is there already")
        }
        Output.print("\(settings.bucket):")
        plan.changes.forEach { Output.print(text($0)) }
        if flags.contains("dry-run") { return .success }
        guard flags.contains("yes") || Confirmation.isGiven() else {
            return Output.fail("nothing is changed; answer y, or give --yes")
        }
        try await s3.put(
            plan.target, inPlaceOf: found, deadline: .now + SettingsCommandLine.requestDeadline)
        return Output.print(
            try await isThere(plan, s3)
                ? "applied" : "applied; S3 still tells the former rules, which it may do for some minutes")
    }

    private static func text(_ change: CORSPlan.Change) -> String {
        switch change {
        case .removed(let rule): "- \(rule.words)"
        case .added(let rule): "+ \(rule.words)"
        case .kept(let rule): "  \(rule.words)"
        }
    }

    /// S3 spreads a configuration; until then it may tell the one before.
    @LoopActor
    private static func isThere(_ plan: CORSPlan, _ s3: S3Client) async throws(AWSError) -> Bool {
        for _ in 0..<5 {
            let now = try await s3.cors(deadline: .now + SettingsCommandLine.requestDeadline)
            if plan.isDone(in: now) { return true }
            try? await LoopActor.sleep(for: .seconds(1))
        }
        return false
    }

    static let help = """
        Usage: cloakroom cors apply [--dry-run] [--yes] SETTINGS

        Puts the bucket's rule for web pages (CORS), "cloakroom-browsers": pages of web.origins may send GET, HEAD, PUT,
        POST and DELETE with all header fields, and read ETag and other fields that uploads need, for an hour after
        they asked. What this changes is shown first: + added, - removed.

        Earlier rules of this command are replaced, and removed where web.origins is empty; all others stay as they are.
        The rule is put before the others, as S3 takes the first one that is for a request.

        Options:
          --dry-run  show, and change nothing
          --yes      do not ask

        Exit status: 0 applied, there already or shown; 1 nothing was changed, or the bucket could not be asked; 2 the
        command line was not understood.

        Examples:
          cloakroom cors apply --dry-run cloakroom.json5
          cloakroom cors apply --yes cloakroom.json5
        """
}
