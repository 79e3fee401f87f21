import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier run`
enum TierRun {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state", "keep", "upload", "dismiss"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier run has no operands") }
        let period = try options.values["keep"].map(period)
        let uploadTime = try options.values["upload"].map(uploadTime)
        let alarm = try options.values["dismiss"].map(alarm)

        let store = try TierStore.open(options)
        var policy = await store.policy
        policy.period = period ?? policy.period
        policy.uploadTime = uploadTime ?? policy.uploadTime
        try await store.setPolicy(policy)
        if let alarm { try await store.dismissAlarm(alarm) }
        let report = try await ProgressBar.during { report in
            await store.run(.manual) { report(ProgressBar.Value($0, of: $1)) }
        }
        return TierOutput.printEnd(
            of: report,
            "uploaded \(report.uploaded) (\(TierOutput.size(report.uploadedBytes))), "
                + "left the device \(report.evicted) (\(TierOutput.size(report.evictedBytes))), "
                + "due but kept \(report.kept), deleted in S3 \(report.deleted), failed \(report.failures.count)")
    }

    private static func period(_ text: String) throws -> RetentionPolicy.Period {
        for period in RetentionPolicy.Period.allCases where (period.days.map(String.init) ?? "forever") == text {
            return period
        }
        throw UsageError("--keep is 7, 30, 90 or forever")
    }

    private static func uploadTime(_ text: String) throws -> RetentionPolicy.UploadTime {
        switch text {
        case "added": .whenAdded
        case "due": .whenDue
        default: throw UsageError("--upload is added or due")
        }
    }

    private static func alarm(_ text: String) throws -> TierAlarm.Kind {
        guard let kind = TierAlarm.Kind(rawValue: text) else {
            throw UsageError("there is no alarm \(text); tier usage shows those that are open")
        }
        return kind
    }

    private static let help = """
        Usage: cloakroom-sample tier run [--keep DAYS] [--upload WHEN] [--dismiss ALARM]

        Uploads what S3 does not have yet, with its thumbnail, and the catalog; and removes the photos from this device that
        are old enough and that S3 has been shown to have. Run it again to continue.

        Options:
          --keep DAYS      how long photos stay on the device, from now on: 7, 30, 90 or forever; 30 at first
          --upload WHEN    from now on: added, when they were added (as at first), or due, when they are as old as --keep
                           says
          --dismiss ALARM  the cause of this alarm was removed; all photos are proven anew. Not of accountChanged, which
                           ends when you sign in as before

        Example:
          cloakroom-sample tier run --keep 7
        """
}
