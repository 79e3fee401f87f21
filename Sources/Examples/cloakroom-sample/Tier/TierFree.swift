import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier free`
enum TierFree {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"], flags: ["perform"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier free has no operands") }
        let mode: FreeSpaceMode = options.flags.contains("perform") ? .perform : .preview
        let store = try TierStore.open(options)
        let report = try await ProgressBar.during { report in
            await store.freeSpace(mode) { report(ProgressBar.Value($0, of: $1)) }
        }
        let count = "\(report.evicted) photos, \(TierOutput.size(report.evictedBytes))"
        return TierOutput.printEnd(
            of: report,
            mode == .preview
                ? "would leave the device: \(count); must stay: \(report.kept); --perform does it"
                : "left the device: \(count); stayed: \(report.kept)")
    }

    private static let help = """
        Usage: cloakroom-sample tier free [--perform]

        Shows how much space would be free if every photo left this device that may, however young it is. Those that are
        pinned, and those that were opened in the last 7 days, stay.

        Options:
          --perform   does it: uploads what S3 does not have yet, and removes what it has been shown to have

        Example:
          cloakroom-sample tier free
          cloakroom-sample tier free --perform
        """
}
