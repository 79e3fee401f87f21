import CloakroomAWS
import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom lifecycle canary`
enum LifecycleCanary: Command {
    static let syntax = CommandSyntax(
        "lifecycle canary", "show the same every day in the bucket itself: for cron, with metrics",
        values: ["name": .text, "grace": .text, "day-length": .text, "textfile": .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let values = options.values
        let name = values["name"] ?? HostName.text
        guard name.wholeMatch(of: /[A-Za-z0-9._-]{1,64}/) != nil else {
            throw .usage("--name takes 1 to 64 letters, digits, dots, - and _")
        }
        guard let day = DurationArgument.duration(values["day-length"] ?? "1d"), day >= .seconds(2),
            day <= .seconds(86_400),
            let grace = values["grace"].map({ DurationArgument.duration($0) }) ?? day * 2
        else {
            throw .usage("--grace and --day-length take a number and a unit, such as 10s, 2h or 1d")
        }
        let settings = line.settings
        let own = settings.ownObjects
        let terms = LifecycleTerms(settings)
        guard let days = terms.retentionDays else { return try nothingExpires(values["textfile"]) }
        let canaries = Canaries(
            days: days, clock: ExpirationClock(dayLength: day), grace: grace,
            formerExpire: own.formerCanaries.map { terms.expires($0) } ?? true)
        let prefix = "\(own.canaries)\(name)/"
        let formerPrefix = own.formerCanaries.map { "\($0)\(name)/" }
        let textfile = values["textfile"]
        var renewal = RenewalSettings(settings.renewal)
        // A run may come earlier in its day than the one that stored: that canary is due, and may be young.
        renewal.minimumAge = .zero
        return line.withUpstreams(
            renewal: renewal, permissions: "it takes what a worker has, by deploy/iam/worker-policy.json"
        ) { upstreams in
            let round = CanaryRun(canaries, s3: upstreams.s3, prefix: prefix, formerPrefix: formerPrefix)
            try await round.run()
            return try tell(round, textfile)
        }
    }

    /// There is nothing to prove, and a timer that runs this is not at fault.
    private static func nothingExpires(_ textfile: String?) throws(EarlyExit) -> ExitStatus {
        if let textfile {
            do throws(StateFile.FileError) {
                try StateFile.write(CanaryMetrics.text(Canaries(days: 1, grace: .zero), [], now: Date()), to: textfile)
            } catch {
                throw .failure("\(error)")
            }
        }
        return Output.print("renewal.retentionDays is null: nothing expires, so that there is nothing to prove")
    }

    @LoopActor
    private static func tell(_ round: CanaryRun, _ textfile: String?) throws(StateFile.FileError) -> ExitStatus {
        let now = Date()
        if let textfile {
            try StateFile.write(CanaryMetrics.text(round.canaries, round.findings, now: now), to: textfile)
        }
        let canaries = round.canaries
        let counts = Canaries.Role.allCases.map { role in
            "\(canaries.canaries.count { $0.role == role }) to \(role.rawValue)"
        }
        Output.print("canaries in the bucket: \(counts.joined(separator: ", "))")
        for finding in round.findings { Output.print("\(finding.failure.rawValue): \(finding.text)") }
        return round.findings.isEmpty ? .success : .failure
    }

    static let help = """
        Usage: cloakroom lifecycle canary [--name N] [--textfile FILE] SETTINGS

        The standing proof in production that what is not renewed is gone after renewal.retentionDays, and that what is
        renewed is not. Each day it stores two small objects, one to be deleted by the bucket's rule and one to be kept,
        which is renewed halfway through its days, as clients do and by the worker's own way. It looks after all earlier
        ones: gone too early, gone though renewed, still there long after, not to be renewed. Run it once a day.

        All it knows lies in the bucket, under cloakroom-canary/NAME/ behind the first of lifecycle.prefixes that ends in
        a slash: each host has its own, and what a host leaves behind expires. Canaries of earlier versions, behind
        renewal.keyPrefix, are followed to their end. It runs with a worker's permissions; it deletes nothing. Where
        renewal.retentionDays is null it stores nothing, and says so.

        Options:
          --name N         whose canaries; this host's name. Give one where that changes, as in containers: canaries
                           with a new name each day prove nothing
          --textfile FILE  metrics for node_exporter's textfile collector: cloakroom_canary_…; deploy/alerts has the rules
          --grace D        how long after their expiration canaries may still be there, such as 12h; two days
          --day-length D   for stores whose days pass faster, such as 10s; 1d

        Exit status: 0 all is as it should be, 1 it is not, or S3 could not be asked, 2 the command line was not
        understood.

        Examples:
          cloakroom lifecycle canary cloakroom.json5
          cloakroom lifecycle canary --textfile /var/lib/cloakroom-canary/canary.prom cloakroom.json5
        """
}
