import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom usage scan`
enum UsageScanCommand: Command {
    static let syntax = CommandSyntax(
        "usage scan", "count what users have stored, for their storage limits",
        values: ["user": .text, "requests-per-second": .text, "state": .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try UserCommandLine(options)
        let interval = try options.requestInterval()
        let values = options.values
        let user = values["user"].flatMap { UserID($0) }
        guard user != nil || values["user"] == nil else {
            throw .usage("--user takes a user's id: 1 to 64 letters, digits, - and _")
        }
        let settings = line.settings
        let subject = UsageTotals.Subject(
            location: settings.bucketLocation, prefixes: settings.vending.prefixes, user: user)
        // One user is soon counted anew.
        let path = values["state"] ?? (user == nil ? "cloakroom-usage.state" : nil)
        return line.withRecords { records in
            try await scan(subject, settings, records, interval: interval, state: path)
        }
    }

    @LoopActor
    private static func scan(
        _ subject: UsageTotals.Subject, _ settings: Settings, _ records: UserRecords, interval: Duration,
        state path: String?
    ) async throws -> ExitStatus {
        let state = try path.map { path throws(UsageState.StateError) in try UsageState(path: path, subject: subject) }
        if let restart = state?.restart, let path { Output.note("\(path) \(restart); beginning anew") }
        let start = state?.totals ?? UsageTotals(subject)
        if start.objects > 0, let path {
            Output.note("going on with \(path), where \(start.objects) objects are counted already")
        }
        let upstreams = Upstreams(of: settings, maximumResponseBytes: ObjectPage.maximumBytes)
        try await upstreams.credentials.require()
        let progress = ProgressLine()
        let scan = UsageScan(
            interval: interval,
            list: { prefix, position in await upstreams.page(prefix, position) },
            keep: { line in state?.append(line) ?? true },
            onPage: { totals in
                progress.update("\(totals.objects) objects of \(totals.bytes.count) users")
            })
        do throws(UsageScan.ScanError) {
            let totals = try await scan.run(from: start)
            progress.clear()
            let (written, unreadable) = try await record(totals, records)
            state?.remove()
            Output.note("\(totals.objects) objects; storageUsed of \(written) users is written")
            if let key = totals.unsized.example {
                Output.note(
                    "\(totals.unsized.count) objects are in no sum: the listing has no readable size of \(key)")
            }
            guard let first = unreadable.first else { return totals.unsized.count == 0 ? .success : .failure }
            return Output.fail(
                "the keys of \(unreadable.count) users hold no record, \(first.text)'s among them;"
                    + " `cloakroom user delete` removes such a key")
        } catch {
            progress.clear()
            let next = path.map { "; until a day after its start the same command goes on from \($0)" }
            return Output.fail(sentence(error) + (next ?? ""))
        }
    }

    /// The error of the records goes to the caller.
    @LoopActor
    private static func record(
        _ totals: UsageTotals, _ records: UserRecords
    ) async throws(UsageScan.ScanError) -> (written: Int, unreadable: [UserID]) {
        do throws(UserRecordError) { return try await records.record(totals) } catch {
            throw .records(error)
        }
    }

    private static func sentence(_ failure: UsageScan.ScanError) -> String {
        switch failure {
        case .s3(let fault):
            "S3 says \(fault.code) (\(fault.status)); may the worker's credentials do s3:ListBucket?"
        case .records(let error): "the records cannot be written (\(error)); is Redis there?"
        case .noProgress: "the store gives the same page again and again"
        case .notKept: "the state cannot be written; is the disk full?"
        case .cancelled: "interrupted"
        }
    }

    static let help = """
        Usage: cloakroom usage scan [--user ID] [--requests-per-second N] [--state FILE] SETTINGS

        Lists what users have stored under vending.prefixes, adds it up, and writes it to Redis as their storageUsed:
        what storage limits are held against, with or without a record. A thousand objects are one request to S3. Run it
        as often as limits have to be exact; what is stored meanwhile counts the next time.

        A scan that is interrupted goes on where it stopped when the same command is given again. It begins anew when it
        was started more than a day ago: what it counted may be deleted by now, and more may be stored.

        Options:
          --user ID                 of this user alone
          --requests-per-second N   1…1000; 10
          --state FILE              where the scan keeps what it has counted; cloakroom-usage.state, and with --user none

        Exit status: 0 done, 1 failed, 2 the command line was not understood.

        Examples:
          cloakroom usage scan cloakroom.json5
          cloakroom usage scan --user u_1 cloakroom.json5
          cloakroom usage scan --requests-per-second 50 --state /var/lib/cloakroom/usage.state cloakroom.json5
        """
}
