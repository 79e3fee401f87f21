import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom lifecycle apply`
enum LifecycleApply: Command {
    static let syntax = CommandSyntax(
        "lifecycle apply", "put the rules that the settings require, after showing what that changes",
        values: ["requests-per-second": .text],
        flags: [
            "dry-run", "yes", "replace", "delete-existing", "expire-other-objects", "stop-expiring",
            "remove-former-chats",
        ])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let interval = try options.requestInterval()
        let settings = line.settings
        let flags = options.flags
        if let conflict = LifecycleConflict(LifecycleTerms(settings)) {
            return Output.fail("nothing is changed: \(conflict.text); \(conflict.advice)")
        }
        let file = line.file
        return line.withUpstreams(maximumResponseBytes: ObjectPage.maximumBytes) { upstreams in
            try await apply(
                upstreams.s3, settings, file, flags, LifecycleCount(s3: upstreams.s3, interval: interval))
        }
    }

    @LoopActor
    private static func apply(
        _ s3: S3Client, _ settings: Settings, _ file: String, _ flags: Set<String>, _ counting: LifecycleCount
    ) async throws(AWSError) -> ExitStatus {
        let terms = LifecycleTerms(settings)
        let found = try await BucketLifecycle(s3)
        let plan = LifecyclePlan(
            found.configuration, found.versioning, terms, replacesAll: flags.contains("replace"),
            removesFormerChats: flags.contains("remove-former-chats"))
        let review = LifecycleReview(plan.target, found.versioning, terms)
        if plan.changesNothing {
            Output.print("\(settings.bucket): the rules are there already")
            plan.formerChats.forEach { Output.print(kept($0)) }
            return verdict(review)
        }
        Output.print("\(settings.bucket), versioning: \(found.versioning.word)")
        plan.lines.forEach { Output.print($0) }
        plan.formerChats.forEach { Output.print(kept($0)) }
        // A rule reaches back to what is there already.
        let count = try await counting.count(plan, found, others: OtherObjects(settings))
        LifecycleCount.lines(count, settings, file: file).forEach { Output.print($0) }
        let userFolders = LifecycleReview.userFolders(addedBy: plan, terms).first.map { "\($0.text); \($0.advice)" }
        let refusal = userFolders ?? LifecycleCount.refusal(count, flags)
        if flags.contains("dry-run") {
            if let refusal { Output.note("apply would refuse this: \(refusal)") }
            return .success
        }
        if let refusal { return Output.fail("nothing is changed: \(refusal)") }
        guard flags.contains("yes") || Confirmation.isGiven() else {
            return Output.fail("nothing is changed; answer y, or give --yes")
        }
        try await found.put(plan, s3, done: "applied")
        return verdict(review)
    }

    private static func kept(_ formerChats: String) -> String {
        "the rules of \(formerChats), an earlier prefix of images of chats, stay: when no object is behind it,"
            + " --remove-former-chats removes them"
    }

    /// What is still wrong with the rules that stay.
    private static func verdict(_ review: LifecycleReview) -> ExitStatus {
        review.findings.flatMap { LifecycleVerify.lines($0) }.forEach { Output.print($0) }
        return review.isGood
            ? .success : Output.fail("other rules of the bucket are in the way; --replace would remove them")
    }

    static let help = """
        Usage: cloakroom lifecycle apply [--dry-run] [--yes] [--replace] [--delete-existing]
                                        [--expire-other-objects] [--stop-expiring] [--remove-former-chats] SETTINGS

        Puts the rules that let objects expire: one for each of lifecycle.prefixes, renewal.retentionDays after objects
        were last written; where the bucket keeps versions, old ones there after lifecycle.noncurrentDays. One more
        rule tidies up the whole bucket: unfinished multipart uploads after lifecycle.abortMultipartDays, and delete
        markers behind which no version is left. What this changes is shown first: + added, - removed.

        Prefixes that meet users' folders are refused, unless lifecycle.expiresUserFolders says that this is wanted.
        Rules of earlier versions, and rules for the same objects that say nothing else, are replaced; all others stay
        as they are. So do the rules for images of chats behind an earlier uploads.chatKeyPrefix.

        A rule reaches back: what is older than its days goes within a day. So objects (and versions, where the bucket
        keeps them) are counted first, by a listing: those that would newly expire within a day, those that would
        later, and those that would no longer expire, each with the oldest; those that would later by prefix, with the
        first expiration, and how to take that back. `cloakroom renew` saves some of them first. A prefix without /
        matches more than names in the bucket itself: "b" matches backups/db.sql. Such objects, and those with other
        names than Cloakroom generates, are counted apart.

        Options:
          --dry-run          show what would change, and end
          --yes              do not ask
          --replace          remove every other rule as well
          --delete-existing  apply though objects that are there would go within a day
          --expire-other-objects
                             apply though objects that are no assets would expire, at once or later
          --stop-expiring    apply though objects would no longer expire
          --remove-former-chats
                             remove the rules for earlier prefixes of images of chats; refused while something is there
          --requests-per-second N
                             of the listing, 1…1000; 10

        Exit status: 0 done, 1 not, or rules are left that are in the way, 2 the command line was not understood.

        Examples:
          cloakroom lifecycle apply --dry-run cloakroom.json5
          cloakroom lifecycle apply --yes cloakroom.json5
        """
}
