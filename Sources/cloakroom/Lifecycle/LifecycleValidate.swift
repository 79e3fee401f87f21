import CloakroomAWS
import CloakroomCrypto
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom lifecycle validate`
enum LifecycleValidate: Command {
    static let syntax = CommandSyntax(
        "lifecycle validate", "show on a bucket of its own that a renewal restarts an object's life",
        values: [
            "bucket": .text, "days": .text, "pairs": .text, "grace": .text, "day-length": .text, "state": .file,
            "report": .file,
        ],
        flags: ["once", "keep"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let settings = try SettingsCommandLine(options).settings
        let requested = try ValidationOptions(options)
        return .onLoop {
            do {
                return try await validate(requested, settings)
            } catch let fault as AWSError {
                return Output.fail(sentence(fault, requested))
            } catch {
                return Output.fail("\(error)")
            }
        }
    }

    /// The options of the command line.
    struct ValidationOptions {
        let bucket: String?
        let days: Int
        let pairs: Int
        let clock: ExpirationClock
        let grace: Duration
        let state: String
        let report: String
        let runsOnce: Bool
        let keeps: Bool
        /// The names of the options that were given a value.
        private let given: Set<String>

        init(_ options: Options) throws(EarlyExit) {
            func span(_ name: String, _ usual: Duration) throws(EarlyExit) -> Duration {
                guard let text = options.values[name] else { return usual }
                guard let span = DurationArgument.duration(text) else {
                    throw .usage("--\(name) takes a number and a unit, such as 10s, 5m, 2h or 3d")
                }
                return span
            }
            bucket = options.values["bucket"]
            days = try options.number("days", 1...36_500, default: 1)
            pairs = try options.number("pairs", 1...100, default: 3)
            let day = try span("day-length", .seconds(86_400))
            guard day >= .seconds(2), day <= .seconds(86_400) else {
                throw .usage("--day-length takes 2s to 1d")
            }
            clock = ExpirationClock(dayLength: day)
            grace = try span("grace", day * 2)
            state = options.values["state"] ?? "cloakroom-lifecycle.state"
            report = options.values["report"] ?? "cloakroom-lifecycle"
            runsOnce = options.flags.contains("once")
            keeps = options.flags.contains("keep")
            given = Set(options.values.keys)
        }

        /// Why a run that has begun is not the one that is meant here; `nil` where it may be.
        ///
        /// What is not given, and what a state of earlier versions does not tell, is not compared.
        ///
        /// - Parameter location: of the run's bucket, by the settings.
        func mismatch(_ plan: LifecycleValidation.Plan, _ location: BucketLocation) -> String? {
            if let bucket, bucket != plan.bucket { return "belongs to a run on \(plan.bucket)" }
            if let store = plan.location, store != location {
                return "belongs to a run at \(store.endpoint), Region \(store.region), whose rule and objects are there"
            }
            let differing = [
                ("days", plan.requestedDays.map { $0 != days } ?? false), ("pairs", plan.pairs != pairs),
                ("day-length", plan.clock != clock), ("grace", plan.grace != grace),
            ]
            guard let name = differing.first(where: { given.contains($0.0) && $0.1 })?.0 else { return nil }
            return "belongs to a run with another --\(name)"
        }
    }

    @LoopActor
    private static func validate(_ requested: ValidationOptions, _ settings: Settings) async throws -> ExitStatus {
        let file = try StateFile(path: requested.state)
        let validation = try begun(requested, settings, file)
        var renewal = RenewalSettings(settings.renewal)
        // What is young is to be renewed as well.
        renewal.minimumAge = .zero
        let bucket = validation.plan.bucket
        let upstreams = Upstreams(
            of: settings, bucket: (bucket, try settings.aws.buckets.endpoint(of: bucket)), renewal: renewal)
        try await upstreams.credentials.require()
        let run = ValidationRun(validation, s3: upstreams.s3, file: file)
        let verdict = try await run.go(once: requested.runsOnce)
        try report(run.validation, to: requested.report)
        guard let verdict else { return .unfinished }
        if !requested.keeps { try await run.tidy() }
        file.remove()
        Output.print("\(verdict.rawValue); see \(requested.report).md")
        return verdict == .proven ? .success : .failure
    }

    private static func begun(
        _ requested: ValidationOptions, _ settings: Settings, _ file: StateFile
    ) throws -> LifecycleValidation {
        func location(of bucket: String) throws -> BucketLocation {
            let endpoint = try settings.aws.buckets.endpoint(of: bucket)
            return BucketLocation(bucket: bucket, endpoint: endpoint.url, region: settings.region)
        }
        if let state = try file.read() {
            guard let validation = LifecycleValidation(state: state) else {
                throw StateFile.FileError(
                    description:
                        "\(requested.state) is no state of this command; delete it, or name another with --state")
            }
            let plan = validation.plan
            if let mismatch = requested.mismatch(plan, try location(of: plan.bucket)) {
                throw StateFile.FileError(
                    description: "\(requested.state) \(mismatch); name another with --state")
            }
            Output.note("going on with run \(plan.id) on \(plan.bucket)")
            return validation
        }
        let id = String(randomBytes(6).hexadecimal)
        let bucket = requested.bucket ?? "cloakroom-validation-\(id)"
        let validation = LifecycleValidation(
            .init(
                id: id, bucket: bucket, ownsBucket: requested.bucket == nil, location: try location(of: bucket),
                days: requested.days, clock: requested.clock, grace: requested.grace, pairs: requested.pairs,
                started: Date()))
        // Before anything is made: whatever follows is found again.
        try file.write(validation.state)
        Output.note("run \(id) on \(validation.plan.bucket); \(requested.state) has its state")
        return validation
    }

    private static func report(_ validation: LifecycleValidation, to base: String) throws(StateFile.FileError) {
        let now = Date()
        try StateFile.write(validation.markdown(now), to: base + ".md")
        try StateFile.write(validation.report(now).text + "\n", to: base + ".json")
    }

    private static func sentence(_ fault: AWSError, _ requested: ValidationOptions) -> String {
        let cause =
            fault.status == 403
            ? "S3 says \(fault.code) (403): these credentials may not do this; --help tells what it takes"
            : SettingsCommandLine.sentence(fault, bucket: requested.bucket ?? "of this run")
        return "\(cause); the same command goes on from \(requested.state)"
    }

    static let help = """
        Usage: cloakroom lifecycle validate [--bucket B] [--days N] [--once] [--report BASE] … SETTINGS

        Shows on a bucket of its own that a renewal lets an object's life start anew: uploads some objects, renews half of
        them as a worker would, and waits until the others are gone. On AWS that takes two to four days with --days 1: S3
        expires at the midnight (UTC) after the days are over, and removes some time after that.

        All that is known is in a state file: after a kill, or a reboot, the same command goes on. It does not with
        another store, or with another --bucket, --days, --pairs, --grace or --day-length. --once does what is due and
        ends, for cron, once an hour; with --days 1 it must run each day, soon after midnight.

        Options:
          --bucket B      use this bucket: its rule for all objects if it has one, else one for the run's objects alone,
                          which goes again; without it a bucket is made, and deleted in the end
          --days N        the rule's days; 1
          --pairs N       how many objects are renewed, and as many are not; 3
          --grace D       how long after their expiration objects may still be there, such as 12h; two days
          --day-length D  for stores whose days pass faster, such as 10s; 1d
          --once          do what is due and end
          --state FILE    cloakroom-lifecycle.state
          --report BASE   writes BASE.md and BASE.json; cloakroom-lifecycle
          --keep          leave the objects, the rule and the bucket behind

        It takes s3:CreateBucket, s3:DeleteBucket (without --bucket), s3:GetLifecycleConfiguration,
        s3:PutLifecycleConfiguration, s3:ListBucket, s3:PutObject, s3:GetObject, s3:DeleteObject, and what a worker needs
        to renew.

        Exit status: 0 proven, 1 failed or inconclusive, 2 the command line was not understood, 3 not yet at its end.

        Examples:
          cloakroom lifecycle validate cloakroom.json5
          cloakroom lifecycle validate --once --state /var/lib/cloakroom/validation.state cloakroom.json5
          cloakroom lifecycle validate --day-length 10s cloakroom.json5
        """
}
