import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier restore`
enum TierRestore {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier restore has no operands") }
        let store = try TierStore.open(options)
        let report = try await ProgressBar.during { report in
            await store.restoreAll { report(ProgressBar.Value($0, of: $1)) }
        }
        for failure in report.failures { TierOutput.printError(failure.error, "photo \(failure.photo.rawValue)") }
        if let error = report.stoppedBy { TierOutput.printError(error, "ended early") }
        Console.print(
            "restored \(report.restored) (\(TierOutput.size(report.restoredBytes))), missing \(report.missing), "
                + "failed \(report.failures.count)")
        return report.failures.isEmpty && report.missing == 0 && report.stoppedBy == nil ? 0 : 1
    }

    private static let help = """
        Usage: cloakroom-sample tier restore

        Fetches all photos from S3, and keeps them: from then on none leaves the device, until tier run --keep says
        otherwise. It begins only when there is room for all of them. Run it again to continue.

        Example:
          cloakroom-sample tier restore
        """
}
