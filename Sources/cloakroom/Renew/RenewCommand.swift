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

/// `cloakroom renew`
enum RenewCommand: Command {
    static let syntax = CommandSyntax(
        "renew", "renew objects of a list, or those older than an age",
        values: ["from-list": .file, "older-than": .text, "prefix": .text, "keys-per-second": .text, "state": .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let values = options.values
        let rate = try options.number("keys-per-second", 1...10_000, default: 100)
        let source: RenewSource
        switch (values["from-list"], values["older-than"], values["prefix"]) {
        case (let path?, nil, nil): source = .list(path)
        case (nil, let age?, let prefix?):
            guard let span = DurationArgument.duration(age), span > .zero else {
                throw .usage("--older-than takes a number and a unit, such as 12h or 20d")
            }
            source = .older(age: span, prefix: prefix)
        default:
            throw .usage("renew takes --from-list FILE, or --older-than AGE and --prefix PREFIX")
        }
        let settings = line.settings
        let path = values["state"] ?? "cloakroom-renew.state"
        let permissions = "it takes what a worker has, by deploy/iam/worker-policy.json, and s3:ListBucket"
        return line.withUpstreams(
            permissions: permissions, maximumResponseBytes: ObjectPage.maximumBytes
        ) { upstreams in
            try await renew(source, settings, upstreams.s3, interval: .seconds(1) / rate, state: path)
        }
    }

    @LoopActor
    private static func renew(
        _ source: RenewSource, _ settings: Settings, _ s3: S3Client, interval: Duration, state path: String
    ) async throws -> ExitStatus {
        let rule = RenewRule(settings)
        let state = try RenewState(
            path: path, source: source, location: settings.bucketLocation, rule: rule.digest)
        if let restart = state.restart { Output.note("\(path) \(restart); beginning anew") }
        if state.position != nil {
            Output.note("going on with \(path), started at \(state.started.wireText): \(words(state.totals))")
        }
        let renewer = try Renewer(
            settings.renewal.ofWholeKeys, s3: s3, requestDeadline: settings.server.requestDeadline, metrics: Metrics(),
            // Whole keys have no prefix in common; the worker's rights are for places of assets.
            testPrefix: settings.uploads.keyPrefix, waits: true)
        let run = RenewalRun(
            renewer, totals: state.totals, interval: interval, mayRenew: { rule.mayRenew($0) },
            onMiss: { key, miss in
                if let word = source.word(miss) { Output.print("\(key): \(word)") }
            })
        let progress = ProgressLine(what: "renewed")
        do throws(RenewalRun.RunError) {
            var (start, latest) = (state.position, Date.distantFuture)
            while true {
                try await source.batches(
                    from: start, writtenBefore: latest, s3,
                    onYoung: { key in
                        if !state.hasFound, rule.mayRenew(key) { state.found() }
                    }
                ) { keys, position throws(RenewalRun.RunError) in
                    if !state.hasFound, keys.contains(where: { rule.mayRenew($0) }) { state.found() }
                    try await run.renew(keys)
                    guard state.keep(position, run.totals) else { throw .notKept }
                    progress.update(run.totals.renewed)
                }
                progress.clear()
                guard state.needsAnotherPass() else { break }
                Output.note("the listing was started at \(state.started.wireText): \(source.staleness); listing again")
                guard state.beginPass(run.totals) else { throw RenewalRun.RunError.notKept }
                // A store may tell whole seconds only.
                let first = state.firstStarted.timeIntervalSince1970.rounded(.down)
                (start, latest) = (nil, Date(timeIntervalSince1970: first))
            }
            state.remove()
            Output.print(words(run.totals))
            if let shortfall = source.shortfall(run.totals, hasFound: state.hasFound) { return Output.fail(shortfall) }
            return run.totals.refused == 0 ? .success : .failure
        } catch {
            progress.clear()
            switch error {
            case .unreadable(let what):
                // A list is read before anything is renewed; there is nothing to go on from unless there was.
                if state.position == nil { state.remove() }
                return Output.fail(what)
            case .misconfigured:
                return Output.fail(
                    "\(sentence(error)); \(words(run.totals));"
                        + " when that is fixed, the same command goes on from \(path)")
            case .unavailable, .notKept, .cancelled:
                _ = Output.fail("\(sentence(error)); \(words(run.totals)); the same command goes on from \(path)")
                return .unfinished
            }
        }
    }

    private static func words(_ totals: RenewalRun.Totals) -> String {
        "\(totals.renewed) renewed or young enough, \(totals.gone) gone, \(totals.refused) refused,"
            + " \(totals.skipped) left alone (users' folders, or Cloakroom's own)"
    }

    private static func sentence(_ failure: RenewalRun.RunError) -> String {
        switch failure {
        case .unavailable(let code): "S3 cannot renew for now (\(code))"
        case .misconfigured(let code): "S3 says \(code): the credentials, the bucket or the key of KMS are not right"
        case .notKept: "the state cannot be written; is the disk full?"
        case .cancelled: "interrupted"
        case .unreadable(let what): what
        }
    }

    static let help = """
        Usage: cloakroom renew --from-list FILE [options] SETTINGS
               cloakroom renew --older-than AGE --prefix PREFIX [options] SETTINGS

        Renews objects as the route does, by their whole keys: before lifecycle rules that would delete them are applied,
        for one. With --from-list, those of a file, one key a line; with --older-than, those below a prefix that were
        written longer ago than that. Objects in users' folders are left alone, unless renewal.requireOwnPrefix or
        lifecycle.expiresUserFolders says that assets are there; so are the canaries and the doctor's objects.

        A run that is interrupted goes on where it stopped when the same command is given again. It begins anew when it was
        started more than a day ago, or with --older-than longer ago than AGE: what was renewed may be due again, and
        objects that were passed over may have become old enough. What was renewed and is still young is passed over, or
        left as it is. For the same reason a listing that took as long is followed by another, of what was written before
        the run and is old enough by then. It begins anew as well when the settings changed what is left alone.

        Keys that are refused (archived, forbidden, invalid) are printed, with the reason; of a list, also those that
        are gone or left alone: a list has whole keys, the folders included.

        Options:
          --from-list FILE     the keys, one a line, in UTF-8; a file, neither a pipe nor -
          --older-than AGE     a number and a unit, such as 12h or 20d
          --prefix PREFIX      what the keys of the older ones begin with
          --keys-per-second N  1…10000; 100
          --state FILE         where the run keeps how far it is; cloakroom-renew.state

        Exit status: 0 all are renewed or young enough; with --older-than some may be gone meanwhile or left alone, too.
        1 some were refused, some keys of the list are gone or left alone, there was nothing to renew (an empty list, or
        no object under the prefix), or it failed. 2 the command line was not understood. 3 not at its end, interrupted
        or because S3 fails for now: give the same command again.

        Examples:
          cloakroom renew --older-than 20d --prefix assets/ cloakroom.json5
          cloakroom renew --from-list keys.txt --state /var/lib/cloakroom/renew.state cloakroom.json5
        """
}
