import CloakroomKit
import CloakroomTiers
import Foundation

/// `cloakroom-sample tier rebuild`
enum TierRebuild {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(arguments, names: ["state"])
        if options.wantsHelp { return Console.print(help) }
        guard options.operands.isEmpty else { throw UsageError("tier rebuild has no operands") }
        let store = try TierStore.open(options)
        let report = try await ProgressBar.during { report in
            report(ProgressBar.Value(fraction: 0, label: "reading what S3 has"))
            return try await store.rebuildCatalog()
        }
        Console.print(
            "photos \(report.photos), of these without a name \(report.unnamed), on this device \(report.adopted), "
                + "missing in S3 \(report.missing)")
        return report.missing == 0 ? 0 : 1
    }

    private static let help = """
        Usage: cloakroom-sample tier rebuild

        Makes the catalog anew: from the photos on this device, from what all devices of the user have published, and from a
        listing of S3. On a new device that is how the photos come; they are fetched when they are opened.

        Example:
          cloakroom-sample tier rebuild --state ~/.local/state/second-device
        """
}
